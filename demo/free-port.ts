import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Returns a free TCP port, below the range from which Linux takes ports for connections: one could take it before its program listens. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(10_000, 30_000)
    if (await isFree(port)) return port
  }
  throw new Error('None of 100 ports between 10000 and 30000 is free on 127.0.0.1')
}

/** Whether a program can listen on a port of 127.0.0.1. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
