// What the linker takes of the realm before a guest can change it, beside what the harness has taken.
export const { keys, preventExtensions, getOwnPropertyDescriptor } = Object
export const { is } = Object
export const SyntaxErrorCtor = SyntaxError
export const ReferenceErrorCtor = ReferenceError
export const tagSymbol = Symbol.toStringTag

const uncurry = Function.prototype.bind.bind(Function.prototype.call)
export const sort = uncurry(Array.prototype.sort)
export const nextOf = uncurry(Object.getPrototypeOf(function* () {}).prototype.next)
export const nextOfAsync = uncurry(Object.getPrototypeOf(async function* () {}).prototype.next)
