// What the kinds of streams are told apart by.
export const DEFLATE = 1
export const INFLATE = 2
export const GZIP = 3
export const GUNZIP = 4
export const DEFLATERAW = 5
export const INFLATERAW = 6
export const UNZIP = 7

// Of each: the name of its functions, and of its class.
export const ZLIB = [
  ['deflate', 'Deflate', DEFLATE], ['inflate', 'Inflate', INFLATE], ['gzip', 'Gzip', GZIP], ['gunzip', 'Gunzip', GUNZIP],
  ['deflateRaw', 'DeflateRaw', DEFLATERAW], ['inflateRaw', 'InflateRaw', INFLATERAW], ['unzip', 'Unzip', UNZIP],
]
export const BROTLI = [['brotliCompress', 'BrotliCompress', true], ['brotliDecompress', 'BrotliDecompress', false]]
export const ZSTD = [['zstdCompress', 'ZstdCompress'], ['zstdDecompress', 'ZstdDecompress']]

const DECODERS = [INFLATE, GUNZIP, INFLATERAW, UNZIP]

export const of = (mode) => ({
  isDecoder: DECODERS.includes(mode),
  lowest: mode === GZIP ? 9 : 8, // of its window's bits
})

const MODE = 0
const QUALITY = 1
const LGWIN = 2
const LGBLOCK = 3
const HIGHEST = 8

export const isBrotliParam = (key) => /^\d+$/.test(key) && +key <= HIGHEST

const clamp = (value, low, high) => Math.min(Math.max(value, low), high)

// What the worker is asked for. `refuse` makes the error for a parameter that does not exist.
export const brotliParams = (encode, given, refuse) => {
  const params = { __proto__: null, brotli: true, encode, mode: 0, quality: 11, lgwin: 22, lgblock: 0 }
  for (const key of Object.keys(given ?? {})) {
    if (!isBrotliParam(key)) throw refuse()
    const value = Math.trunc(Number(given[key])) || 0
    if (+key === MODE) params.mode = clamp(value, 0, 2)
    else if (+key === QUALITY) params.quality = clamp(value, 0, 11)
    else if (+key === LGWIN) params.lgwin = clamp(value, 10, 24)
    else if (+key === LGBLOCK) params.lgblock = value === 0 ? 0 : clamp(value, 16, 24)
  }
  return params
}
