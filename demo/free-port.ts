import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A TCP port of this machine that nobody listens on now. It is below those that Linux gives to connections, which could take it
 * before its program listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    if (await isFree(port)) return port
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
