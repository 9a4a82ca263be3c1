import { Hono } from 'hono'
import type { Served } from '../../../icl/start/listening.ts'

const answer = { status: 'ok', certificate_expires_at: 1_900_000_000, eligible: true, reasons: [] }

/** A Hono application that does nothing but read a request and answer it. */
export function createEmptyApp(): Served {
  const app = new Hono()
  app.all('*', async (c) => {
    // Deno closes a connection with a body on it that nobody has read.
    if (c.req.method === 'POST') await c.req.arrayBuffer()
    return c.json(answer)
  })
  return app as unknown as Served
}

/** What a runtime does by itself to answer. */
export const bareApp = { fetch: () => Response.json(answer) } as unknown as Served

/** Holds every request for ever. */
export const heldApp = { fetch: () => new Promise<Response>(() => {}) } as unknown as Served
