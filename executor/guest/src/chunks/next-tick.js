// process.nextTick. A failing callback ends nothing, and is not hidden.
const UNCAUGHT = 9 // LEVELS of wire/messages.py

export const nextTickOf = (realm) => {
  // Not by a promise's `then`: a program may have replaced it.
  const later = async (callback, args) => {
    await undefined
    try {
      callback(...args)
    } catch (error) {
      realm.log(UNCAUGHT, realm.describe(error).message)
    }
  }

  return function nextTick(callback, ...args) {
    void later(realm.exports['node-async-hooks']?.bind(callback) ?? callback, args)
  }
}
