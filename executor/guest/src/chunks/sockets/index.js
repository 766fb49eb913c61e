// What would open a connection: WebSocket, EventSource and cloudflare:sockets.
import { createConnect } from './connect.js'
import { createEventSource } from './event-source.js'
import { createWebSockets } from './websocket.js'

export default function install(realm) {
  const webSocket = createWebSockets(realm)
  createEventSource(realm)
  realm.lazyModule('cloudflare:sockets', () => ({ connect: createConnect(realm) }))
  return { webSocket }
}
