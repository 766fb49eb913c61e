import { realm } from './platform.js'

export const { Buffer } = realm.exports.buffer
// Known only where the program can have one.
export const { Blob } = globalThis
