import { realm } from './platform.js'

export const { StringDecoder } = realm.findModule('string_decoder')
