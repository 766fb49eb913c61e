// The names of digests as BoringSSL takes them, and what the worker calls them.
const PLAIN = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']
const WITH_RSA = ['MD5', 'SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512']

const NAMES = {
  __proto__: null,
  'sha512-256': 'sha512-256', 'SHA512-256': 'sha512-256', 'md5-sha1': 'md5-sha1', 'MD5-SHA1': 'md5-sha1',
}
for (let i = 0; i < PLAIN.length; i++) {
  NAMES[PLAIN[i]] = NAMES[WITH_RSA[i]] = NAMES[`RSA-${WITH_RSA[i]}`] = PLAIN[i]
}
NAMES['DSA-SHA'] = NAMES['DSA-SHA1'] = NAMES['ecdsa-with-SHA1'] = 'sha1'

export const SIZES = {
  __proto__: null,
  md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64, 'sha512-256': 32, 'md5-sha1': 36,
}

// undefined for what is none.
export const digestNamed = (name) => NAMES[name]

export const listed = () => [
  ...PLAIN, 'md5-sha1', ...WITH_RSA.map((name) => `RSA-${name}`), 'DSA-SHA', 'DSA-SHA1', 'ecdsa-with-SHA1',
]
