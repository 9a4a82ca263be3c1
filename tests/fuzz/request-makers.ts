import type { Operation } from './api-document.ts'
import type { Draft, Sender } from './call.ts'
import type { FuzzWorld, KnownJob } from './world.ts'

/** A sound request for an operation; undefined while the state of the ICL allows none. */
type Make = (world: FuzzWorld, operation: Operation) => Promise<Draft | undefined>
/** By operation: only those that need more than their schema says. */
export type Requests = Readonly<Record<string, Make>>

/** The holder of the read token of a job. */
export const readerOf = ({ jobId, readToken }: KnownJob): Sender => ({
  kind: 'token',
  token: readToken,
  jobId,
})
