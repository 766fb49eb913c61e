// console.log, warn and error as upstream formats them (arguments by String, joined by a space); the other levels are
// kept with their name. A value that cannot be printed becomes a placeholder: logging never fails a program.
import { log } from './channel.js'
import { prefixWithin, print, utf8Length } from './describe.js'
import { limits } from './limits.js'
import { defineProperty, stringSlice } from './primordials.js'

const LEVELS = ['log', 'warn', 'error', 'info', 'debug', 'trace', 'dir', 'table']
const NOTICE = LEVELS.length // what the harness itself has to say
const UNCAUGHT = LEVELS.length + 1
const ASSERT = LEVELS.length + 2
const QUIET = ['group', 'groupCollapsed', 'groupEnd', 'time', 'timeLog', 'timeEnd', 'count', 'countReset', 'clear']

export const installConsole = (console) => {
  let bytes = 0
  let lines = 0
  let dropped = false

  const write = (level, args) => {
    let line = ''
    for (let i = 0; i < args.length; i++) line += (i === 0 ? '' : ' ') + print(args[i])
    if (dropped) return
    const room = limits.logBytes - bytes
    // No unit takes more than three bytes; only near the limit is it worth counting before writing.
    const fits = 3 * line.length <= room || utf8Length(line, line.length) <= room
    if (lines === limits.logLines || !fits) {
      dropped = true
      if (lines !== limits.logLines) log(level, stringSlice(line, 0, prefixWithin(line, room)))
      log(NOTICE, 'Further log output was dropped: the limit is ' + limits.logLines + ' lines and ' +
        limits.logBytes + ' bytes (Limits.log_lines, Limits.log_bytes)')
      return
    }
    lines += 1
    bytes += utf8Length(line, line.length)
    log(level, line)
  }

  const define = (name, value) => {
    defineProperty(console, name, {
      __proto__: null, value, writable: true, enumerable: true, configurable: true,
    })
  }
  for (let i = 0; i < LEVELS.length; i++) define(LEVELS[i], (...args) => write(i, args))
  for (const name of QUIET) define(name, () => undefined)
  define('assert', (condition, ...args) => {
    if (condition) return
    let line = 'Assertion failed'
    for (let i = 0; i < args.length; i++) line += ' ' + print(args[i])
    write(ASSERT, [line])
  })
  return (line) => write(UNCAUGHT, [line])
}
