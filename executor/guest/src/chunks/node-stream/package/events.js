import { realm } from './platform.js'

export const { EventEmitter } = realm.findModule('events')
