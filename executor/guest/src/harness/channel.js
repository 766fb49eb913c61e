// Everything outbound, in one buffer that the worker shares.
//
// A message is a list of items; an item is a few integers and the text that they measure:
//
//   [kind, integer, …] , …  in JSON, a newline, then all texts one after the other (lengths in UTF-16 units)
//
// It is written to the front of the buffer and read inside `post`, on this thread, so a program that loops afterwards
// cannot hold it back. A message too long for the buffer waits until the worker calls for it.
//
// Log lines have the rest of the buffer. The worker may read them at any time, also while the program loops and nothing
// is posted, so none is lost when the program is ended from outside. A record is: level, length, units; a line that does
// not fit is written in pieces, all but the last marked MORE.
import { ErrorCtor, atomicStore, charCodeAt, now } from './primordials.js'

const CAPACITY = 8192 // UTF-16 units of a message
const LOG_CAPACITY = 16384 // UTF-16 units of log records
const LOG_RECORD = 2
const MORE = 0x100
const LOG_AFTER_MS = 5
const MESSAGE_UNITS = 32768

export const CALL = 1
export const TIMER = 3
export const CANCEL_TIMER = 4
export const RESULT = 5
export const FAILURE = 6
const TAKE = 7 // the whole message is to be fetched
const TAKE_TEXT = 8 // only its text; its items follow
export const RETAINED = 9
export const INVOKED = 10
export const INVOKE_FAILED = 11
export const CANCEL_CALL = 12
const FRAME = 8 // brackets, a kind, commas and the newline

const LOG_OFFSET = 4 + 2 * CAPACITY
const buffer = new ArrayBuffer(LOG_OFFSET + 4 + 2 * LOG_CAPACITY)
const size = new Uint32Array(buffer, 0, 1)
const units = new Uint16Array(buffer, 4, CAPACITY)
const logSize = new Uint32Array(buffer, LOG_OFFSET, 1)
const logUnits = new Uint16Array(buffer, LOG_OFFSET + 4, LOG_CAPACITY)

let post
let head = ''
let body = ''
let logAt = 0
let scheduled = false
let closed = false
let lastPost = 0
let waiting = { text: '', next: null }
let newest = waiting

const write = (text) => {
  const length = text.length
  for (let i = 0; i < length; i++) units[i] = charCodeAt(text, i)
  size[0] = length
  lastPost = now()
  post()
  logAt = 0 // the worker has taken the log records in, and set their size to 0
}

// The empty message means nothing to the worker but that there may be log records.
const EMPTY = '[]\n'

export const attach = (fn) => {
  post = fn
  return buffer
}

// A function that was called is compiled, and needs less of a stack that is nearly used up.
export const compile = () => {
  post = () => undefined
  send('', '')
  flush()
  write(EMPTY)
}

export const flush = () => {
  if (head === '') {
    if (logAt > 0) write(EMPTY)
    return
  }
  const numbers = head
  const text = body
  head = body = ''
  if (numbers.length + text.length + FRAME <= CAPACITY) return write('[' + numbers + ']\n' + text)
  // A text is handed over as it is: putting something before it would copy it.
  const alone = numbers.length + FRAME <= CAPACITY
  newest.next = { text: alone ? text : '[' + numbers + ']\n' + text, next: null }
  newest = newest.next
  write(alone ? '[' + TAKE_TEXT + ',' + numbers + ']\n' : '[' + TAKE + ']\n')
}

// The oldest long message; the worker calls this once for every TAKE it has seen.
export const take = () => {
  const next = waiting.next
  waiting = next
  const { text } = next
  next.text = ''
  return text
}

const later = async () => {
  await undefined
  scheduled = false
  flush()
}

const schedule = () => {
  if (scheduled) return
  later()
  scheduled = true
}

// `numbers` is the item's integers, comma-separated; `text` everything they measure.
export const send = (numbers, text) => {
  if (closed) return
  // An item that would make a message long leaves alone, so that the others are not held up.
  if (head !== '' && head.length + body.length + text.length + numbers.length > MESSAGE_UNITS) flush()
  head = head === '' ? numbers : head + ',' + numbers
  body += text
  schedule()
}

export const log = (level, text) => {
  if (closed) return
  const length = text.length
  let from = 0
  do {
    if (logAt + LOG_RECORD >= LOG_CAPACITY) write(EMPTY)
    const room = LOG_CAPACITY - LOG_RECORD - logAt
    const count = length - from < room ? length - from : room
    const more = from + count < length
    const at = logAt + LOG_RECORD
    logUnits[logAt] = more ? level | MORE : level
    logUnits[logAt + 1] = count
    for (let i = 0; i < count; i++) logUnits[at + i] = charCodeAt(text, from + i)
    logAt = at + count
    atomicStore(logSize, 0, logAt) // only now may the worker read the record
    from += count
  } while (from < length)
  if (now() - lastPost >= LOG_AFTER_MS) write(EMPTY)
  else schedule()
}

// The last message of a run: whatever the program does from here on has no effect.
export const finish = (numbers, text) => {
  if (closed) return
  send(numbers, text)
  closed = true
  flush()
}

export const isClosed = () => closed

// One step of a call into the worker that is answered before it returns: the worker reads and writes the message region
// inside `post`. `length` bytes of a request are there; the answer is the bytes that are there now, or -1 for "go on". See
// chunks/realm/host-call.js.
const REQUEST = 0x80000000
const ANSWER = 0x40000000

export const region = buffer
export const exchange = (length) => {
  if (closed) throw new ErrorCtor('the run is over')
  size[0] = REQUEST + length
  post()
  logAt = 0
  const answer = size[0]
  if (answer === 0) return -1
  if (answer < ANSWER || answer >= REQUEST) throw new ErrorCtor('the worker did not answer')
  return answer - ANSWER
}
