// The TypeErrors of workerd for what is called in a way that its classes do not take.

export const illegalInvocation = () =>
  new TypeError(
    'Illegal invocation: function called with incorrect `this` reference. See ' +
      'https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details.',
  )

export const illegalConstructor = () => new TypeError('Illegal constructor')

export const needsNew = (name) =>
  new TypeError(
    `Failed to construct '${name}': Please use the 'new' operator, this object constructor cannot be called as a function.`,
  )

// An argument is missing or no object of the kind: `index` counts from 1.
export const badArgument = (method, owner, index, type) =>
  new TypeError(`Failed to execute '${method}' on '${owner}': parameter ${index} is not of type '${type}'.`)

export const badConstructorArgument = (name, index, type) =>
  new TypeError(`Failed to construct '${name}': constructor parameter ${index} is not of type '${type}'.`)

export const badField = (field, dictionary, type) =>
  new TypeError(
    `Incorrect type for the '${field}' field on '${dictionary}': the provided value is not of type '${type}'.`,
  )

export const badElement = (index, type) =>
  new TypeError(`Incorrect type for array element ${index}: the provided value is not of type '${type}'.`)

export const SCOPE = 'ServiceWorkerGlobalScope'

// What may stand where a dictionary of options is expected.
export const isDictionary = (value) =>
  value === undefined || value === null || typeof value === 'object' || typeof value === 'function'
