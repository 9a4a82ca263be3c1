import type { ClientContext } from '../../../lib/client/context.ts'
import { elapsedSince } from '../../../lib/clock.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createFakeWorld } from './fake-world.ts'

/** An error that passes. */
export const passing = (code: string) =>
  new SvcError(code, 'Away', { hint: 'Wait.', retryable: true })

/** What fails. */
type Late = 'receipt' | 'chain' | 'output' | 'key' | 'commit'

/** A world in which one of the last calls of an inference fails while `fails` gives an error. */
export async function worldWhere(late: Late, fails: (elapsedMs: number) => Error | undefined) {
  const { context, callsOf } = await createFakeWorld()
  const beganAt = context.clock.monotonic()
  const tries: number[] = []
  const failing =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      // What comes before the job is there meets nothing.
      if (callsOf('submitJob').length === 0) return await call(...args)
      const elapsedMs = elapsedSince(context.clock, beganAt)
      tries.push(elapsedMs)
      const error = fails(elapsedMs)
      if (error) throw error
      return await call(...args)
    }
  const { api, chain, blobs, coprocessor } = context
  const changes: Record<Late, Partial<ClientContext>> = {
    receipt: { api: { ...api, getReceipt: failing(api.getReceipt) } },
    chain: { chain: { ...chain, outputKeyOf: failing(chain.outputKeyOf) } },
    output: { blobs: { download: failing(blobs.download) } },
    commit: { chain: { ...chain, receiptHashIn: failing(chain.receiptHashIn) } },
    key: { coprocessor: { ...coprocessor, decrypt: failing(coprocessor.decrypt) } },
  }
  return { context: { ...context, ...changes[late] }, callsOf, tries }
}
