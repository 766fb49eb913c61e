// The clock of a Worker: whole milliseconds since 1970.
import { publish } from '../shape.js'
import { illegalInvocation } from '../texts.js'

export default function install(realm) {
  const { now } = realm.primordials

  const check = (value) => {
    if (!isPerformance(value)) throw illegalInvocation()
  }

  let isPerformance

  class PerformanceInner {
    #brand

    get timeOrigin() { return check(this), 0 }
    now() { return check(this), now() }

    static {
      isPerformance = (value) => typeof value === 'object' && value !== null && #brand in value
    }
  }
  const performance = new PerformanceInner()
  publish(PerformanceInner, 'Performance', { constructible: false })
  realm.defineEnumerable('performance', performance)
}
