import { Hono } from 'hono'
import type { Served } from '../../../icl/start/listening.ts'

const answer = { status: 'ok', certificate_expires_at: 1_900_000_000, eligible: true, reasons: [] }

/** A Hono application that does nothing but answer. */
export function createEmptyApp(): Served {
  const app = new Hono()
  app.all('*', (c) => c.json(answer))
  return app as unknown as Served
}

/** What a runtime does by itself to answer. */
export const bareApp = { fetch: () => Response.json(answer) } as unknown as Served

/** Holds every request for ever. */
export const heldApp = { fetch: () => new Promise<Response>(() => {}) } as unknown as Served
