// connect() of cloudflare:sockets: what is wrong with its arguments, and that there is no network.
import { badArgument } from '../texts.js'

const MAX_PORT = 65535

export const createConnect = (realm) => {
  const { isObject, toUnsigned } = realm.exports['readable-streams'].native
  const { refusal } = realm.exports.fetch
  const { URL } = realm.global

  const checkAddress = (address) => {
    if (address === undefined || address === null) {
      throw new TypeError(
        'Cannot initialize N7workerd3api13SocketAddressE with required members from an undefined or null value.',
      )
    }
    if (isObject(address)) {
      if (toUnsigned(address.port) > MAX_PORT) {
        throw new TypeError(`Value out of range. Must be less than or equal to ${MAX_PORT}.`)
      }
      return
    }
    const url = URL.parse(`fake://${address}`)
    if (url === null) throw new TypeError('Specified address could not be parsed.')
    if (url.hostname === '') throw new TypeError('Specified address is missing hostname.')
    if (url.port === '') throw new TypeError('Specified address is missing port.')
  }

  return function connect(address, options) {
    if (options !== undefined && options !== null && !isObject(options)) {
      throw badArgument('connect', 'SocketsModule', 2, 'SocketOptions')
    }
    checkAddress(address)
    throw refusal()
  }
}
