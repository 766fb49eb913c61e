// Prototypes of the language's objects that have a state and no way to be copied.
const { getPrototypeOf } = Reflect

const iteratorPrototypes = () => [
  getPrototypeOf([].values()),
  getPrototypeOf(new Map().values()),
  getPrototypeOf(new Set().values()),
  getPrototypeOf(''[Symbol.iterator]()),
  getPrototypeOf(''.matchAll(/x/g)),
  getPrototypeOf([].values().map((x) => x)),
  getPrototypeOf(Iterator.from({ next: () => ({ done: true }) })),
  getPrototypeOf(function* () {}).prototype,
  getPrototypeOf(async function* () {}).prototype,
]

const constructors = [
  Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry, Symbol, DisposableStack, AsyncDisposableStack,
]

const members = (namespace) =>
  Object.getOwnPropertyNames(namespace)
    .map((name) => namespace[name])
    .filter((member) => typeof member === 'function' && typeof member.prototype === 'object')

export const refusedPrototypes = () => {
  const classes = [...constructors, ...members(Intl), ...(typeof Temporal === 'object' ? members(Temporal) : [])]
  return new Set([...classes.map(({ prototype }) => prototype), ...iteratorPrototypes()])
}
