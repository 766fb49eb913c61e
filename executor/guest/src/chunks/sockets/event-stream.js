// text/event-stream, as the HTML Standard reads it.
const LINE = /\r\n|\n|\r/

// Takes text in pieces; calls `give({ type, data, id })` for each event that is whole.
export const createParser = (give) => {
  let rest = ''
  let data = []
  let type = ''
  let id = ''

  const field = (name, value) => {
    if (name === 'data') data.push(value)
    else if (name === 'event') type = value
    else if (name === 'id' && !value.includes('\0')) id = value
  }

  const line = (content) => {
    if (content === '') {
      // workerd has no event without data, not even where there was an empty line of it.
      const text = data.join('\n')
      if (text !== '') give({ type: type === '' ? 'message' : type, data: text, id })
      data = []
      type = ''
      return
    }
    const colon = content.indexOf(':')
    if (colon === 0) return
    if (colon === -1) return field(content, '')
    field(content.slice(0, colon), content.slice(content[colon + 1] === ' ' ? colon + 2 : colon + 1))
  }

  return (text) => {
    // The second half of a line's end may be in the next piece.
    const all = rest + text
    const lines = all.split(LINE)
    rest = lines.pop()
    if (all.endsWith('\r')) rest = lines.pop() + '\r'
    for (const one of lines) line(one)
  }
}
