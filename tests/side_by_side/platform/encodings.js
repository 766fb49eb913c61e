// What TextDecoder makes of every byte and every pair of bytes, and of longer runs of them, in the encodings of LABELS; and
// which encoding each label is. Of a pair, the answer is the text of both bytes and a line feed, which ends what is open.
async (LABELS, ENCODINGS) => {
  const answers = {}
  const tell = (key, action) => {
    try {
      answers[key] = action()
    } catch (error) {
      answers[key] = `threw ${error.name}: ${error.message}`
    }
  }
  for (const label of LABELS) {
    for (const written of [label, label.toUpperCase(), `\t ${label}\n`]) tell(`label ${JSON.stringify(written)}`, () => new TextDecoder(written).encoding)
  }
  // The same bytes on both engines, of any kind.
  let state = 12345
  const byte = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    const at = state >>> 16
    return at % 5 === 0 ? at & 0x7f : 0x80 | (at >> 3)
  }
  const mixed = Array.from({ length: 40 }, () => Uint8Array.from({ length: 60 }, byte))
  // Escape sequences of ISO-2022-JP among them.
  const escapes = ['\x1b$B', '\x1b(B', '\x1b(J', '\x1b(I', '\x1b$@', '\x1b$A', '\x1b']
  const escaped = mixed.slice(0, 20).map((bytes) => {
    const list = []
    for (const value of bytes) {
      if (value % 4 === 0) list.push(...[...escapes[value % escapes.length]].map((it) => it.charCodeAt(0)))
      list.push(value & 0x7f)
    }
    return Uint8Array.from(list)
  })
  for (const encoding of ENCODINGS) {
    const lead = (first) => {
      const bytes = new Uint8Array(256 * 3)
      for (let second = 0; second < 256; second++) bytes.set([first, second, 10], second * 3)
      return bytes
    }
    const singles = Uint8Array.from({ length: 256 }, (_, at) => at)
    tell(`${encoding} singly`, () => new TextDecoder(encoding, { ignoreBOM: true }).decode(singles))
    for (let first = 0x80; first < 256; first++) {
      tell(`${encoding} after ${first}`, () => new TextDecoder(encoding, { ignoreBOM: true }).decode(lead(first)))
    }
    for (const [at, bytes] of [...mixed, ...escaped].entries()) {
      tell(`${encoding} of ${at}`, () => new TextDecoder(encoding).decode(bytes))
      tell(`${encoding} of ${at}, fatal`, () => new TextDecoder(encoding, { fatal: true }).decode(bytes))
      tell(`${encoding} of ${at}, in pieces`, () => {
        const decoder = new TextDecoder(encoding)
        let text = ''
        for (let from = 0; from < bytes.length; from += 7) text += decoder.decode(bytes.subarray(from, from + 7), { stream: true }) + '|'
        return text + decoder.decode()
      })
    }
  }
  let packed = JSON.stringify(answers).match(/[^]{1,200}/gu)
  while (packed.length > 60) {
    packed = Array.from({ length: Math.ceil(packed.length / 60) }, (_, at) => packed.slice(at * 60, at * 60 + 60))
  }
  return packed
}
