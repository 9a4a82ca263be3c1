import type { createApp } from '../app.ts'

/** The ICL's application as a server calls it. */
export type Served = Pick<ReturnType<typeof createApp>, 'fetch'>

/** Where a server listens; port 0 takes a free one. */
export type Place = { readonly hostname: string; readonly port: number }

/** A server that takes requests. */
export type Listening = {
  readonly url: URL
  /** Takes no more connections and resolves once every answer has been sent; `true` cuts off what is still open. */
  readonly stop: (cutOff?: boolean) => Promise<void>
}

/** Serves the application on a port of this machine; each runtime has its own way. */
export type Listen = (app: Served, place: Place) => Listening | Promise<Listening>
