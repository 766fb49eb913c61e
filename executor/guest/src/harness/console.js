// console.log, warn and error as upstream formats them (arguments by String, joined by a space); the other levels are
// kept with their name. A value that cannot be printed becomes a placeholder: logging never fails a program.
import { LOG, sendNow } from './channel.js'
import { print } from './describe.js'
import { limits } from './limits.js'
import { defineProperty, stringSlice } from './primordials.js'

const ERROR = 2
const LEVELS = ['log', 'warn', 'error', 'info', 'debug', 'trace', 'dir', 'table']
const NOTICE = LEVELS.length // what the harness itself has to say
const QUIET = ['group', 'groupCollapsed', 'groupEnd', 'time', 'timeLog', 'timeEnd', 'count', 'countReset', 'clear']

export const installConsole = (console) => {
  let units = 0
  let lines = 0
  let dropped = false

  const emit = (level, line) => sendNow(LOG + ',' + level + ',' + line.length, line)

  const log = (level, args) => {
    let line = ''
    for (let i = 0; i < args.length; i++) line += (i === 0 ? '' : ' ') + print(args[i])
    if (dropped) return
    const room = limits.logBytes - units
    if (lines === limits.logLines || line.length > room) {
      dropped = true
      if (lines !== limits.logLines && room > 0) emit(level, stringSlice(line, 0, room))
      emit(NOTICE, 'Further log output was dropped: the limit is ' + limits.logLines + ' lines and ' +
        limits.logBytes + ' bytes (Limits.log_lines, Limits.log_bytes)')
      return
    }
    lines += 1
    units += line.length
    emit(level, line)
  }

  const define = (name, value) => {
    defineProperty(console, name, {
      __proto__: null, value, writable: true, enumerable: true, configurable: true,
    })
  }
  for (let i = 0; i < LEVELS.length; i++) define(LEVELS[i], (...args) => log(i, args))
  for (const name of QUIET) define(name, () => undefined)
  define('assert', (condition, ...args) => {
    if (!condition) log(ERROR, ['Assertion failed', ...args])
  })
  return (line) => log(NOTICE, [line])
}
