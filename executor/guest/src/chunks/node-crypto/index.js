// node:crypto.
import { createBytes } from './bytes.js'
import { createCiphers } from './cipher.js'
import { makeConstants } from './constants.js'
import { createDerivation } from './derive.js'
import { listed } from './digests.js'
import { createEcdh } from './ecdh.js'
import { createHashing } from './hash.js'
import { createKeyObjects } from './keys.js'
import { createRandom } from './random.js'
import { createSigning } from './sign.js'

// Upstream throws like this for what it does not offer. Here are more of them: certificates, primes and finite fields,
// which programs without a network have no use for.
const ABSENT = [
  'Cipher', 'Decipher', 'createCipher', 'createDecipher', 'setFips', 'setEngine', 'DiffieHellman', 'DiffieHellmanGroup',
  'X509Certificate', 'Certificate', 'checkPrime', 'checkPrimeSync', 'createDiffieHellman', 'createDiffieHellmanGroup',
  'generatePrime', 'generatePrimeSync', 'getDiffieHellman', 'privateEncrypt', 'publicDecrypt',
]

// How many arguments these say they take.
const LENGTHS = {
  __proto__: null, createCipheriv: 3, createDecipheriv: 3, generateKeyPairSync: 1, getRandomValues: 0, KeyObject: 0,
  randomInt: 3, scrypt: 4, timingSafeEqual: 2,
}

export default function install(realm) {
  realm.lazyModule('crypto', () => {
    const { crypto } = realm.exports.crypto
    const { subtle, timingSafeEqual } = realm.exports.subtle
    const { plainError } = realm.exports['node-errors']
    const { Transform, Writable } = realm.findModule('stream') ?? {}

    const bytes = createBytes(realm)
    const { later, ...random } = createRandom(realm)
    const keys = createKeyObjects(realm, bytes, later)
    const members = {
      ...createHashing(realm, bytes, keys, Transform),
      ...random,
      ...createDerivation(realm, bytes, keys, later),
      ...createCiphers(realm, bytes, { secretOf: keys.openSecretOf }, Transform),
      ...createSigning(realm, bytes, keys, Writable),
      ...createEcdh(realm, bytes),
      ...keys.members,
      constants: makeConstants(),
      fips: true,
      getCurves: function getCurves() { return ['prime256v1', 'secp384r1', 'secp521r1'] },
      getFips: function getFips() { return true },
      getHashes: function getHashes() { return listed() },
      secureHeapUsed: function secureHeapUsed() { return { total: 0, used: 0, utilization: 0, min: 0 } },
      subtle,
      timingSafeEqual: (...args) => timingSafeEqual(...args),
      webcrypto: crypto,
    }
    for (const name of ABSENT) {
      members[name] = {
        [name]: function () {
          throw plainError('ERR_METHOD_NOT_IMPLEMENTED', `The ${name} method is not implemented`)
        },
      }[name]
    }
    for (const name in LENGTHS) Object.defineProperty(members[name], 'length', { __proto__: null, value: LENGTHS[name] })
    return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
