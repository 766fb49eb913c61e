import { nextTickOf } from '../../next-tick.js'
import { realm } from './platform.js'

export const nextTick = nextTickOf(realm)
