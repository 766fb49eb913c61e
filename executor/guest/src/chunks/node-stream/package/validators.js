import { realm } from './platform.js'

export const {
  validateAbortSignal, validateBoolean, validateFunction, validateInteger, validateObject,
} = realm.exports['node-errors']
