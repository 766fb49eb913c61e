// What a failed assertion says: the two values line by line.

const READABLE = {
  __proto__: null,
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: 'Values have same structure but are not reference-equal:',
  notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
}
const SHORT = 12
const LONG = 512
const WIDTH = 80
const MOST_LINES = 50

const isObject = (value) => typeof value === 'object' && value !== null

export const createMessages = (inspect) => {
  const show = (value) => inspect(value, {
    compact: true, customInspect: false, depth: 1000, maxArrayLength: Infinity, showHidden: false, showProxy: false,
    sorted: true, getters: true,
  })

  // Lines that are the same before a difference: the nearest two, and what they follow, are shown.
  const context = (lines, i, identical, state) => {
    let text = ''
    if (identical <= 2) return text
    if (identical > 4) {
      if (identical === 5) {
        text += '\n  ' + lines[i - 3]
        state.printed += 1
      } else {
        text += '\n...'
        state.skipped = true
      }
    }
    if (identical > 3) {
      text += '\n  ' + lines[i - 2]
      state.printed += 1
    }
    text += '\n  ' + lines[i - 1]
    state.printed += 1
    return text
  }

  const difference = (actual, expected, operator) => {
    const shown = show(actual)
    const actualLines = shown.split('\n')
    const expectedLines = show(expected).split('\n')
    const bothFunctions = typeof actual === 'function' && typeof expected === 'function'
    if (operator === 'strictEqual' && ((isObject(actual) && isObject(expected)) || bothFunctions)) operator = 'strictEqualObject'
    let same = 0
    let indicator = ''
    if (actualLines.length === 1 && expectedLines.length === 1 && actualLines[0] !== expectedLines[0]) {
      const length = actualLines[0].length + expectedLines[0].length
      if (length <= SHORT) {
        if (!isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0)) {
          return READABLE[operator] + '\n\n' + actualLines[0] + ' !== ' + expectedLines[0] + '\n'
        }
      } else if (operator !== 'strictEqualObject' && length < WIDTH) {
        let i = 0
        while (actualLines[0][i] === expectedLines[0][i]) i += 1
        if (i > 2) indicator = '\n  ' + ' '.repeat(i) + '^'
      }
    }
    let end = ''
    let other = ''
    while (actualLines.length > 0 && expectedLines.length > 0 && actualLines.at(-1) === expectedLines.at(-1)) {
      const line = actualLines.pop()
      expectedLines.pop()
      if (same < 3) end = '\n  ' + line + end
      else other = line
      same += 1
    }
    const count = Math.max(actualLines.length, expectedLines.length)
    if (count === 0) {
      const lines = shown.split('\n')
      if (lines.length > MOST_LINES) lines.splice(MOST_LINES - 4, lines.length, '...')
      return READABLE.notIdentical + '\n\n' + lines.join('\n') + '\n'
    }
    const state = { printed: 0, skipped: false }
    if (same >= 5) {
      end = '\n...' + end
      state.skipped = true
    }
    if (other !== '') {
      end = '\n  ' + other + end
      other = ''
    }
    const heading = READABLE[operator] + '\n+ actual - expected'
    const longer = actualLines.length < count ? expectedLines : actualLines
    const shorter = Math.min(actualLines.length, expectedLines.length)
    let text = ''
    let identical = 0
    for (let i = 0; i < count; i++) {
      if (i >= shorter) {
        text += context(longer, i, identical, state)
        identical = 0
        if (longer === actualLines) text += '\n+ ' + longer[i]
        else other += '\n- ' + longer[i]
        state.printed += 1
      } else {
        const expectedLine = expectedLines[i]
        let actualLine = actualLines[i]
        // A comma at the end is no difference.
        let differs = actualLine !== expectedLine && actualLine !== expectedLine + ','
        if (differs && actualLine + ',' === expectedLine) {
          differs = false
          actualLine += ','
        }
        if (differs) {
          text += context(actualLines, i, identical, state)
          identical = 0
          text += '\n+ ' + actualLine
          other += '\n- ' + expectedLine
          state.printed += 2
        } else {
          text += other
          other = ''
          identical += 1
          if (identical <= 2) {
            text += '\n  ' + actualLine
            state.printed += 1
          }
        }
      }
      if (state.printed > MOST_LINES && i < count - 2) {
        return heading + ' ... Lines skipped\n' + text + '\n...' + other + '\n...'
      }
    }
    return heading + (state.skipped ? ' ... Lines skipped' : '') + '\n' + text + other + end + indicator
  }

  const clip = (text, most) => (text.length > most ? text.slice(0, most - 3) + '...' : text)

  // The message of an AssertionError that was given none.
  const generate = (actual, expected, operator) => {
    if (operator === 'deepStrictEqual' || operator === 'strictEqual') return difference(actual, expected, operator)
    if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') {
      const object = operator === 'notStrictEqual' && (isObject(actual) || typeof actual === 'function')
      const base = READABLE[object ? 'notStrictEqualObject' : operator]
      const lines = show(actual).split('\n')
      if (lines.length > MOST_LINES) lines.splice(MOST_LINES - 4, lines.length, '...')
      if (lines.length === 1) return base + (lines[0].length > 5 ? '\n\n' : ' ') + lines[0]
      return base + '\n\n' + lines.join('\n') + '\n'
    }
    const left = show(actual)
    const right = show(expected)
    if (operator === 'notDeepEqual' && left === right) return clip(READABLE.notDeepEqual + '\n\n' + left, 2 * LONG)
    const first = clip(left, LONG)
    const second = clip(right, LONG)
    if (operator === 'deepEqual') return READABLE.deepEqual + '\n\n' + first + '\n\nshould loosely deep-equal\n\n' + second
    if (operator === 'notDeepEqual') {
      return READABLE.notDeepEqualUnequal + '\n\n' + first + '\n\nshould not loosely deep-equal\n\n' + second
    }
    return first + ' ' + operator + ' ' + second
  }

  const ESCAPES = { '\b': '\\b', '\f': '\\f', '\t': '\\t', '\v': '\\v' }
  const visible = (line) => line
    .replace(/[\b\f\t\v]/g, (character) => ESCAPES[character])
    .replace(/\r\n|\r|\n/g, (end) => end.replace('\r', '\\r').replace('\n', '\\n'))
  const linesOf = (text) => text.split(/(?<=\n)/).concat(/\n$/.test(text) ? [''] : []).map(visible)

  // A longest common subsequence; where both go on differently, the longer text's lines come first.
  const changes = (a, b) => {
    const width = b.length + 1
    const lengths = new Uint32Array((a.length + 1) * width)
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        lengths[i * width + j] = a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1])
      }
    }
    const found = []
    for (let i = 0, j = 0; i < a.length || j < b.length;) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        found.push('    ' + a[i])
        i += 1
        j += 1
        continue
      }
      const remove = i < a.length ? lengths[(i + 1) * width + j] : -1
      const add = j < b.length ? lengths[i * width + j + 1] : -1
      if (remove > add || (remove === add && a.length >= b.length)) {
        found.push('-   ' + a[i])
        i += 1
      } else {
        found.push('+   ' + b[j])
        j += 1
      }
    }
    return found
  }
  // Beyond this the table of `changes` would be larger than what it explains.
  const MOST_CELLS = 4e6

  const notStrictlyEqual = (actual, expected) => {
    const texts = typeof actual === 'string' && typeof expected === 'string'
    const left = texts ? actual : inspect(actual)
    const right = texts ? expected : inspect(expected)
    if (left === right) {
      const lines = left.split('\n').map((line) => '    ' + line).join('\n')
      return 'Values have the same structure but are not reference-equal:\n\n' + lines + '\n'
    }
    const a = texts ? linesOf(left) : left.split('\n')
    const b = texts ? linesOf(right) : right.split('\n')
    const lines = a.length * b.length <= MOST_CELLS
      ? changes(a, b)
      : [...a.map((line) => '-   ' + line), ...b.map((line) => '+   ' + line)]
    return 'Values are not strictly equal:\n\n\n[Diff] Actual / Expected\n\n\n' + lines.join('\n') + '\n' + (texts ? '\n' : '')
  }

  return { generate, notStrictlyEqual }
}
