// navigator, with the words of a Worker.
import { publish, readOnly } from '../shape.js'
import { badArgument, illegalInvocation } from '../texts.js'

const { defineProperty } = Reflect

const toText = (value) => `${value}`

export default function install(realm) {
  let isNavigator

  class NavigatorInner {
    #brand

    constructor() {
      defineProperty(this, 'languages', readOnly(['en']))
      defineProperty(this, 'language', readOnly('en'))
      defineProperty(this, 'hardwareConcurrency', readOnly(1))
      defineProperty(this, 'userAgent', readOnly('Cloudflare-Workers'))
    }

    // A program without network: the beacon is taken, as upstream takes it, and reaches nobody. Nothing ever tells a
    // sender what became of one.
    sendBeacon(...args) {
      if (!isNavigator(this)) throw illegalInvocation()
      if (args.length === 0) throw badArgument('sendBeacon', 'Navigator', 1, 'string')
      args.slice(0, 2).forEach(toText) // what is no text throws
      return true
    }

    static {
      isNavigator = (value) => typeof value === 'object' && value !== null && #brand in value
    }
  }
  const navigator = new NavigatorInner()
  realm.define('Navigator', publish(NavigatorInner, 'Navigator', { constructible: false }))
  realm.defineEnumerable('navigator', navigator)
}
