// CountQueuingStrategy and ByteLengthQueuingStrategy.
const sizes = {
  CountQueuingStrategy: () => 1,
  ByteLengthQueuingStrategy: (chunk) => (chunk === null ? undefined : chunk?.byteLength),
}

export const createStrategies = ({ createInterface, isObject, missingMembers }) =>
  Object.keys(sizes).map((name) => {
    const size = sizes[name]
    Object.defineProperty(size, 'name', { __proto__: null, value: '' })
    Object.defineProperty(size, 'length', { __proto__: null, value: 0 })
    return createInterface(name, {
      required: { constructor: ['QueuingStrategyInit'] },
      construct([init], bad) {
        if (init === undefined || init === null) throw missingMembers('N7workerd3api19QueuingStrategyInitE')
        if (!isObject(init)) throw bad(1, 'QueuingStrategyInit')
        return { highWaterMark: +init.highWaterMark }
      },
      getters: { highWaterMark: (state) => state.highWaterMark, size: () => size },
    })
  })
