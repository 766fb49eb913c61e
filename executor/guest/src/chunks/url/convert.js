// Arguments as the well-formed texts that URLs are made of.
import { badArgument } from '../texts.js'

export const toText = (value) => `${value}`.toWellFormed()

// The argument `index`. To leave it out is an error, other than to give `undefined`.
export const textArgument = (given, index, owner, method) => {
  if (index >= given.length) throw badArgument(method, owner, index + 1, 'USVString')
  return toText(given[index])
}

// An argument that may be left out.
export const optionalText = (value) => (value === undefined ? undefined : toText(value))
