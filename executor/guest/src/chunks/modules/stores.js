// AsyncLocalStorage across `await`: the reader has put these calls around it where a program uses stores.

/** @param {{ snapshot: () => unknown, restore: (token: unknown) => void } | undefined} hooks */
export const storeKeeping = (hooks) => {
  if (hooks === undefined) {
    const same = (value) => value
    return { __proto__: null, wait: same, resume: same, take: () => undefined, back: () => undefined }
  }
  const settled = async (value, token) => {
    try {
      return { __proto__: null, token, value: await value, failed: false }
    } catch (error) {
      return { __proto__: null, token, value: error, failed: true }
    }
  }
  return {
    __proto__: null,
    wait: (value) => settled(value, hooks.snapshot()),
    resume: ({ token, value, failed }) => {
      hooks.restore(token)
      if (failed) throw value
      return value
    },
    take: () => hooks.snapshot(),
    back: (token) => void hooks.restore(token),
  }
}
