// Preloaded where a process cannot be put into a network of its own: every way out throws.
import dgram from 'node:dgram'
import net from 'node:net'

const refuse = (): never => {
  throw new Error('this process has no network')
}
Object.assign(globalThis, { fetch: refuse, WebSocket: refuse })
Object.assign(net, { connect: refuse, createConnection: refuse })
net.Socket.prototype.connect = refuse
Object.assign(dgram, { createSocket: refuse })
