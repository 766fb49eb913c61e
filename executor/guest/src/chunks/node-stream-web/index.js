// node:stream/web: the globals once more. A program that names what makes Node's streams of the web's needs them too.
const NAMES = [
  'ByteLengthQueuingStrategy', 'CompressionStream', 'CountQueuingStrategy', 'DecompressionStream',
  'ReadableByteStreamController', 'ReadableStream', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest',
  'ReadableStreamDefaultController', 'ReadableStreamDefaultReader', 'TextDecoderStream', 'TextEncoderStream',
  'TransformStream', 'TransformStreamDefaultController', 'WritableStream', 'WritableStreamDefaultController',
  'WritableStreamDefaultWriter',
]

export default function install(realm) {
  realm.lazyModule('stream/web', () => Object.fromEntries(NAMES.map((name) => [name, realm.global[name]])))
}
