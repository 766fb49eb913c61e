// `this.env` whose values are clones. What stands in them for functions and services of the host is made here.
import { ErrorCtor, isArray } from './primordials.js'

// `tagged`: { data: clone text, handles: what its functions stand for, each [kind, path] }. `decode` is of the chunk that reads
// clones; `fetchBy` answers what makes a service's `fetch`, if that chunk is there.
export const readClonedEnv = ({ data, handles }, decode, tools, fetchBy) => {
  const made = []
  const make = (entry) => {
    if (isArray(entry) && entry[0] === 'function') return tools.envFunction(entry[1])
    if (isArray(entry) && entry[0] === 'service') return tools.envService(entry[1], fetchBy)
    throw new ErrorCtor('this.env holds what is neither a function nor a service of the host')
  }
  // The same function twice is the same function.
  return decode(data, (number) => (made[number] ??= make(handles[number])))
}
