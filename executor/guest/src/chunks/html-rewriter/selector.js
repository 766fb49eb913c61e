// Selectors, as far as a stream of tags allows: an element's own name, id, classes and attributes, its place among the
// children that came before, and its ancestors.
import { lower } from './tokenizer.js'
import { tokenize } from './selector-tokens.js'

const TEXTS = {
  __proto__: null,
  token: 'Unexpected token in selector.',
  end: 'Unexpected end of selector.',
  empty: 'The selector is empty.',
  dangling: 'Dangling combinator in selector.',
  attribute: 'Unexpected token in the attribute selector.',
  pseudo: 'Unsupported pseudo-class or pseudo-element in selector.',
  namespace: 'Selectors with explicit namespaces are not supported.',
  className: 'Invalid or unescaped class name in selector.',
}

const fault = (kind) => new TypeError(`Parser error: ${TEXTS[kind]}`)
const unsupportedCombinator = (sign) => new TypeError(`Parser error: Unsupported combinator \`${sign}\` in selector.`)

// Attributes of HTML whose values have no case.
const CASELESS = new Set(
  ('accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir' +
    ' direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref noresize' +
    ' noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype vlink').split(' '),
)

const isSpaced = (value, part) => value.split(/[\t\n\f\r ]/).includes(part)

// The value on the left, what the selector asks for on the right.
const OPERATORS = {
  __proto__: null,
  '=': (value, asked) => value === asked,
  '~=': isSpaced,
  '|=': (value, asked) => value === asked || value.startsWith(asked + '-'),
  '^=': (value, asked) => value !== '' && value.startsWith(asked),
  '$=': (value, asked) => value !== '' && value.endsWith(asked),
  '*=': (value, asked) => asked !== '' && value.includes(asked),
}

const isNth = (index, { step, offset }) => {
  const distance = index - offset
  if (step === 0) return distance === 0
  return distance % step === 0 && distance / step >= 0
}

class Parser {
  #tokens
  #at = 0

  constructor(tokens) {
    this.#tokens = tokens
  }

  get #token() {
    return this.#tokens[this.#at]
  }

  #isDelimiter(sign, ahead = 0) {
    const token = this.#tokens[this.#at + ahead]
    return token?.kind === 'delimiter' && token.value === sign
  }

  #skipSpace() {
    let isSkipped = false
    while (this.#token?.kind === 'space') {
      this.#at++
      isSkipped = true
    }
    return isSkipped
  }

  // Alternatives: each a list of compounds from the element outwards, { tests, isChild } with how the next one out is
  // related. `isInner`: up to a closing parenthesis.
  list(isInner) {
    const alternatives = []
    for (;;) {
      alternatives.push(this.#complex())
      if (this.#token === undefined) break
      if (this.#isDelimiter(',')) {
        this.#at++
        continue
      }
      if (isInner && this.#isDelimiter(')')) break
      throw fault('token')
    }
    return alternatives
  }

  #complex() {
    const compounds = []
    let isChild = false
    let refused
    this.#skipSpace()
    for (;;) {
      const tests = this.#compound()
      if (tests === undefined) throw fault(compounds.length === 0 ? 'empty' : 'dangling')
      compounds.unshift({ tests, isChild })
      const hasSpace = this.#skipSpace()
      const token = this.#token
      if (token?.kind === 'delimiter' && ['>', '+', '~'].includes(token.value)) {
        this.#at++
        this.#skipSpace()
        isChild = token.value === '>'
        if (!isChild) refused ??= unsupportedCombinator(token.value)
        continue
      }
      if (!hasSpace || token === undefined || this.#isDelimiter(',') || this.#isDelimiter(')')) break
      isChild = false
    }
    if (refused !== undefined) throw refused
    return compounds
  }

  // undefined: there is none.
  #compound() {
    const tests = []
    let isEmpty = true
    if (this.#type(tests)) isEmpty = false
    for (;;) {
      const test = this.#simple()
      if (test === undefined) break
      isEmpty = false
      tests.push(...test)
    }
    return isEmpty ? undefined : tests
  }

  #type(tests) {
    const token = this.#token
    const isName = token?.kind === 'name'
    const isAny = this.#isDelimiter('*')
    if (this.#isDelimiter('|') || ((isName || isAny) && this.#isDelimiter('|', 1))) return this.#namespaced(tests)
    if (!isName && !isAny) return false
    this.#at++
    if (isName) tests.push(nameTest(token.value))
    else tests.push({ matches: () => true })
    return true
  }

  // `*|p` is `p`, `|p` is nothing in HTML, and there are no other namespaces.
  #namespaced(tests) {
    const isAny = this.#isDelimiter('*')
    const isNone = this.#isDelimiter('|')
    this.#at += isNone ? 1 : 2
    if (!isAny && !isNone) throw fault('namespace')
    const token = this.#token
    if (token === undefined) throw fault('end')
    if (token.kind !== 'name' && !this.#isDelimiter('*')) throw fault('token')
    this.#at++
    if (isNone) tests.push({ matches: () => false })
    else if (token.kind === 'name') tests.push(nameTest(token.value))
    else tests.push({ matches: () => true })
    return true
  }

  #simple() {
    const token = this.#token
    if (token === undefined) return undefined
    if (token.kind === 'id') {
      this.#at++
      return [{ matches: (element) => element.id === token.value }]
    }
    if (token.kind !== 'delimiter') return undefined
    if (token.value === '.') return [this.#className()]
    if (token.value === '[') return [this.#attribute()]
    if (token.value === ':') return this.#pseudo()
    return undefined
  }

  #className() {
    this.#at++
    const token = this.#token
    if (token === undefined) throw fault('end')
    if (token.kind !== 'name') throw fault('className')
    this.#at++
    return { matches: (element) => isSpaced(element.className, token.value) }
  }

  #attribute() {
    this.#at++
    this.#skipSpace()
    const name = this.#attributeName()
    this.#skipSpace()
    // Names in HTML are lower case, and one that is not is compared as it is.
    if (this.#token === undefined || this.#isDelimiter(']')) {
      this.#at++
      return { matches: (element) => element.valueOf(name) !== undefined }
    }
    const operator = this.#operator()
    if (operator === undefined) throw fault('attribute')
    this.#skipSpace()
    const value = this.#token
    if (value === undefined) throw fault('end')
    if (value.kind !== 'name' && value.kind !== 'string') throw fault('attribute')
    this.#at++
    this.#skipSpace()
    const isCaseless = this.#caseFlag() ?? CASELESS.has(name)
    this.#skipSpace()
    if (this.#token !== undefined && !this.#isDelimiter(']')) throw fault('token')
    this.#at++
    if (name !== lower(name)) throw fault('namespace')
    const compare = OPERATORS[operator]
    const asked = isCaseless ? lower(value.value) : value.value
    return {
      matches(element) {
        const found = element.valueOf(name)
        return found !== undefined && compare(isCaseless ? lower(found) : found, asked)
      },
    }
  }

  #attributeName() {
    const isAny = this.#isDelimiter('*')
    if (isAny || (this.#token?.kind === 'name' && this.#isDelimiter('|', 1) && !this.#isDelimiter('=', 2))) {
      throw fault('namespace')
    }
    if (this.#isDelimiter('|')) this.#at++
    const token = this.#token
    if (token === undefined || this.#isDelimiter(']')) throw fault('end')
    if (token.kind !== 'name') throw fault('attribute')
    this.#at++
    return token.value
  }

  #operator() {
    for (const operator of Object.keys(OPERATORS)) {
      if (![...operator].every((sign, i) => this.#isDelimiter(sign, i))) continue
      this.#at += operator.length
      return operator
    }
    return undefined
  }

  #caseFlag() {
    const token = this.#token
    if (token?.kind !== 'name') return undefined
    const flag = lower(token.value)
    if (flag !== 'i' && flag !== 's') return undefined
    this.#at++
    return flag === 'i'
  }

  #pseudo() {
    this.#at++
    const token = this.#token
    if (token === undefined) throw fault('end')
    if (token.kind !== 'name') throw fault('pseudo')
    this.#at++
    const name = lower(token.value)
    if (!this.#isDelimiter('(')) {
      if (name === 'first-child') return [childTest({ step: 0, offset: 1 })]
      if (name === 'first-of-type') return [typeTest({ step: 0, offset: 1 })]
      throw fault('pseudo')
    }
    this.#at++
    if (name === 'not') return this.#negation()
    if (name !== 'nth-child' && name !== 'nth-of-type') throw fault('pseudo')
    const nth = this.#nth()
    return [name === 'nth-child' ? childTest(nth) : typeTest(nth)]
  }

  // Each test of the innermost compounds must fail, and a negation in there says nothing.
  #negation() {
    this.#skipSpace()
    const alternatives = this.list(true)
    this.#close()
    return alternatives.flatMap(([{ tests }]) =>
      tests.filter(({ isNegation }) => !isNegation).map(({ matches }) => ({
        matches: (element) => !matches(element), isNegation: true,
      })))
  }

  #close() {
    if (this.#token !== undefined && !this.#isDelimiter(')')) throw fault('token')
    this.#at++
  }

  // The source between the parentheses says more than its tokens.
  #nth() {
    let source = ''
    while (this.#token !== undefined && !this.#isDelimiter(')')) {
      source += this.#token.source
      this.#at++
    }
    this.#at++
    const text = lower(source.trim())
    if (text === '') throw fault('end')
    if (text === 'even') return { step: 2, offset: 0 }
    if (text === 'odd') return { step: 2, offset: 1 }
    if (/^[+-]?\d+$/.test(text)) return { step: 0, offset: +text }
    const found = /^([+-]?\d*)n(?:\s*([+-])\s*(\d+))?$/.exec(text)
    if (found === null) throw fault('token')
    const [, factor, sign, rest = '0'] = found
    const step = factor === '' || factor === '+' ? 1 : factor === '-' ? -1 : +factor
    return { step, offset: sign === '-' ? -rest : +rest }
  }
}

const nameTest = (name) => {
  const asked = lower(name)
  return { matches: (element) => element.name === asked }
}
const childTest = (nth) => ({ matches: (element) => isNth(element.index, nth) })
const typeTest = (nth) => ({ matches: (element) => isNth(element.typeIndex, nth) })

const fits = ({ tests }, element) => {
  for (let i = 0; i < tests.length; i++) if (!tests[i].matches(element)) return false
  return true
}

// Whether what is left of a selector, from `at` on, fits the ancestors from `parent` on.
const fitsAncestors = (compounds, at, parent, isChild) => {
  if (at === compounds.length) return true
  for (let element = parent; element !== undefined; element = element.parent) {
    const compound = compounds[at]
    if (fits(compound, element) && fitsAncestors(compounds, at + 1, element.parent, compound.isChild)) return true
    if (isChild) return false
  }
  return false
}

/**
 * @param {string} text
 * @returns {(element: object) => boolean} for { name, id, className, valueOf(name), index, typeIndex, parent }
 */
export const parseSelector = (text) => {
  const alternatives = new Parser(tokenize(text)).list(false)
  return (element) =>
    alternatives.some((compounds) =>
      fits(compounds[0], element) && fitsAncestors(compounds, 1, element.parent, compounds[0].isChild))
}
