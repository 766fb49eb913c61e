// An executor as it should not be: node:vm with one context for everybody, and the host's own functions in it.
import { createInterface } from 'node:readline'
import { constants, createContext, runInContext } from 'node:vm'

const waiting = new Map()
const logs = new Map()
let calls = 0
const say = (message) => process.stdout.write(JSON.stringify(message) + '\n')

const provider = (run, name) =>
  new Proxy({}, {
    get: (_, tool) => (typeof tool !== 'string' || tool === 'then' ? undefined : (...args) =>
      new Promise((resolve, reject) => {
        const call = calls++
        waiting.set(call, { resolve, reject })
        say({ run, call, provider: name, tool, args })
      })),
  })

const context = createContext({ setTimeout, setInterval, clearTimeout, queueMicrotask, structuredClone, process, AbortSignal, console: {} })

const execute = async ({ run, code, env, names }) => {
  const lines = []
  logs.set(run, lines)
  for (const name of names) context[name] = provider(run, name)
  context.console.log = (...args) => void lines.push(args.map(String).join(' '))
  context.self = { env, ctx: {} }
  try {
    const program = runInContext(`(function () { return (${code}\n) })`, context, { importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER })
    const result = await program.call(context.self)()
    say({ run, result: result ?? null, logs: lines, stack: '' })
  } catch (error) {
    say({ run, error: String(error?.message ?? error), logs: lines, stack: String(error?.stack ?? '') })
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if ('code' in message) return void execute(message)
  const call = waiting.get(message.call)
  waiting.delete(message.call)
  if ('error' in message) call?.reject(new Error(message.error))
  else call?.resolve(message.value)
})
process.on('uncaughtException', () => {})
process.on('unhandledRejection', () => {})
