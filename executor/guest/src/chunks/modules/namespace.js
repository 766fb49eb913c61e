// The namespace object of a module: what it exports, live, and nothing that can be changed.
import { getOwnPropertyDescriptor, is, preventExtensions, tagSymbol } from './intrinsics.js'

const SUBJECT = '[object Module]'

/**
 * @param {any} primordials
 * @param {string[]} names in their order
 * @param {Record<string, () => unknown>} reads of each name
 */
export const createNamespace = ({ ProxyCtor, StringOf, TypeErrorCtor, defineProperty, hasOwn }, names, reads) => {
  // The proxy's target has the shape that the language's rules for proxies hold the answers against.
  const target = { __proto__: null }
  for (let i = 0; i < names.length; i++) {
    defineProperty(target, names[i], {
      __proto__: null, value: undefined, writable: true, enumerable: true, configurable: false,
    })
  }
  defineProperty(target, tagSymbol, {
    __proto__: null, value: 'Module', writable: false, enumerable: false, configurable: false,
  })
  preventExtensions(target)
  const isExport = (key) => typeof key === 'string' && hasOwn(target, key)
  const refuse = (text) => {
    throw new TypeErrorCtor(text)
  }
  return new ProxyCtor(target, {
    __proto__: null,
    get: (_, key) => (isExport(key) ? reads[key]() : target[key]),
    // A strict program, as all are, gets an error from each of these; that is when its text can be V8's own.
    set: (_, key) => refuse("Cannot assign to property '" + StringOf(key) + "' of " + SUBJECT),
    deleteProperty: (_, key) =>
      !hasOwn(target, key) || refuse("Cannot delete property '" + StringOf(key) + "' of " + SUBJECT),
    setPrototypeOf: (_, prototype) => prototype === null || refuse(SUBJECT + ' is not extensible'),
    getOwnPropertyDescriptor: (_, key) => {
      const descriptor = getOwnPropertyDescriptor(target, key)
      if (isExport(key)) descriptor.value = reads[key]()
      return descriptor
    },
    defineProperty: (_, key, asked) => {
      if (!hasOwn(target, key)) return refuse('Cannot define property ' + StringOf(key) + ', object is not extensible')
      const fixed = isExport(key)
      const isSame =
        asked.configurable !== true &&
        (asked.enumerable === undefined || asked.enumerable === fixed) &&
        !hasOwn(asked, 'get') &&
        !hasOwn(asked, 'set') &&
        (asked.writable === undefined || asked.writable === fixed) &&
        (!hasOwn(asked, 'value') || is(asked.value, fixed ? reads[key]() : target[key]))
      return isSame || refuse('Cannot redefine property: ' + StringOf(key))
    },
  })
}
