// What is wrong with an element of a sequence.
export const badElement = (type) => new TypeError(`Incorrect type: the provided value is not of type '${type}'.`)
