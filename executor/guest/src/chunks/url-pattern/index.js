// URLPattern.
import { publish } from '../shape.js'
import { badConstructorArgument, illegalInvocation, isDictionary } from '../texts.js'
import { toText } from '../url/convert.js'
import { COMPONENTS, readInit } from './init.js'
import { compilePattern, componentsToMatch, matchPattern } from './pattern.js'
import { orElse } from './refused.js'
import { createUrls } from './urls.js'

const failedTo = (what) => () => {
  throw new TypeError(`Failed to ${what} URLPattern`)
}

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'

// A text, or a dictionary of texts.
const inputOf = (value) => {
  if (value === undefined || value === null) return {}
  return isObject(value) ? readInit(value, toText) : toText(value)
}

const textOrNothing = (value) => (value === undefined || value === null ? undefined : toText(value))

export default function install(realm) {
  const urls = createUrls(realm.exports.url.parser)

  const match = (pattern, given, method) => {
    const input = inputOf(given[0])
    const base = textOrNothing(given[1])
    if (typeof input !== 'string' && base !== undefined) failedTo(method)()
    return orElse(
      () => {
        const found = matchPattern(pattern, componentsToMatch(input, base, urls))
        return found === null ? null : { inputs: base === undefined ? [input] : [input, base], ...found }
      },
      () => null,
    )
  }

  let componentsOf

  class Pattern {
    #components

    static {
      componentsOf = (self) => {
        try {
          return self.#components
        } catch {
          throw illegalInvocation()
        }
      }
    }

    constructor() {
      const hasBase = arguments.length > 1 && !isObject(arguments[1])
      const input = inputOf(arguments[0])
      const base = hasBase ? textOrNothing(arguments[1]) : undefined
      const options = hasBase ? arguments[2] : arguments[1]
      if (!isDictionary(options)) throw badConstructorArgument('URLPattern', 3, 'URLPatternOptions')
      const ignoreCase = Boolean(options?.ignoreCase)
      this.#components = orElse(() => compilePattern(input, base, ignoreCase, urls), failedTo('construct'))
    }

    get protocol() {
      return componentsOf(this).protocol.text
    }

    get username() {
      return componentsOf(this).username.text
    }

    get password() {
      return componentsOf(this).password.text
    }

    get hostname() {
      return componentsOf(this).hostname.text
    }

    get port() {
      return componentsOf(this).port.text
    }

    get pathname() {
      return componentsOf(this).pathname.text
    }

    get search() {
      return componentsOf(this).search.text
    }

    get hash() {
      return componentsOf(this).hash.text
    }

    get hasRegExpGroups() {
      const components = componentsOf(this)
      return COMPONENTS.some((name) => components[name].hasRegExp)
    }

    test() {
      return match(componentsOf(this), arguments, 'test') !== null
    }

    exec() {
      return match(componentsOf(this), arguments, 'exec')
    }
  }

  realm.define('URLPattern', publish(Pattern, 'URLPattern'))
  return {}
}
