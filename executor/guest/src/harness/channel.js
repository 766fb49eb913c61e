// Outbound messages. One message is a list of items; an item is a few integers and the text they measure:
//
//   [kind, integer, …] , …  in JSON, a newline, then all texts one after the other (lengths in UTF-16 units)
//
// Small messages are written to a buffer that the worker reads inside `post`, on this thread, so a program that loops
// afterwards cannot hold them back. A text too long for the buffer waits in `taken` until the worker calls for it.
import { charCodeAt, now } from './primordials.js'

const CAPACITY = 8192 // UTF-16 units that fit in the buffer
const FLUSH_AFTER_MS = 5
const FLUSH_AFTER_UNITS = 32768

export const CALL = 1
export const LOG = 2
export const TIMER = 3
export const CANCEL_TIMER = 4
export const RESULT = 5
export const FAILURE = 6
const TAKE = 7

const buffer = new ArrayBuffer(4 + 2 * CAPACITY)
const size = new Uint32Array(buffer, 0, 1)
const units = new Uint16Array(buffer, 4)

let post
let head = ''
let body = ''
let scheduled = false
let closed = false
let lastFlush = 0
let waiting = { __proto__: null, text: '', next: null }
let newest = waiting

const write = (text) => {
  const length = text.length
  for (let i = 0; i < length; i++) units[i] = charCodeAt(text, i)
  size[0] = length
  post()
}

// The empty message means nothing to the worker; sending it compiles what every run needs while nobody waits.
export const attach = (fn) => {
  post = fn
  send('', '')
  flush()
  write('[]\n')
  return buffer
}

export const flush = () => {
  if (head === '') return
  const text = '[' + head + ']\n' + body
  head = body = ''
  lastFlush = now()
  if (text.length <= CAPACITY) return write(text)
  newest.next = { __proto__: null, text, next: null }
  newest = newest.next
  write('[' + TAKE + ']\n')
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

// `numbers` is the item's integers, comma-separated; `text` everything they measure.
export const send = (numbers, text) => {
  if (closed) return
  // An item that would push a short message over the buffer's size leaves alone, so small ones stay small.
  if (head !== '' && head.length + body.length + text.length + numbers.length > FLUSH_AFTER_UNITS) flush()
  head = head === '' ? numbers : head + ',' + numbers
  body += text
  if (scheduled) return
  later()
  scheduled = true
}

// A log line must be seen even if the program never yields again: the first one leaves at once, later ones when the
// last message is old enough or the waiting text long enough.
export const sendNow = (numbers, text) => {
  if (closed) return
  send(numbers, text)
  if (body.length >= FLUSH_AFTER_UNITS || now() - lastFlush >= FLUSH_AFTER_MS) flush()
}

// The last message of a run: whatever the program does from here on has no effect.
export const finish = (numbers, text) => {
  if (closed) return
  send(numbers, text)
  closed = true
  flush()
}

export const isClosed = () => closed
