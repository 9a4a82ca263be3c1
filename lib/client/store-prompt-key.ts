import { unixSeconds } from '../clock.ts'
import type { EncryptedInput } from '../coprocessor/coprocessor.ts'
import type { Preview } from './choose-quorum.ts'
import type { ClientContext } from './context.ts'

const defaultMaxGrants = 6
const graceSeconds = 600

/** Stores the encrypted key halves so that the quorum can read them, and lets the ICL grant `maxGrants` more nodes while the job lasts. */
export async function storePromptKey(
  { chain, network, clock }: ClientContext,
  halves: { readonly high: EncryptedInput; readonly low: EncryptedInput },
  preview: Preview,
  maxGrants: number = defaultMaxGrants,
  signal?: AbortSignal,
) {
  const readers = [preview.leader, ...preview.verifiers]
  if (maxGrants === 0) return chain.storeKey({ ...halves, readers }, signal)
  // The contract goes by the chain's time; that of a chain without traffic stands still.
  const now = Math.max(await chain.time(signal), unixSeconds(clock))
  const until = now + network.limits.job_seconds + graceSeconds
  const delegation = { delegate: network.coordinator, maxGrants, until }
  return chain.storeKey({ ...halves, readers, delegation }, signal)
}
