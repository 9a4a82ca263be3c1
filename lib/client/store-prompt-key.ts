import { unixSeconds } from '../clock.ts'
import type { EncryptedInput } from '../coprocessor/coprocessor.ts'
import type { Preview } from './choose-quorum.ts'
import type { ClientContext } from './context.ts'

const defaultMaxGrants = 3
const graceSeconds = 600

/** Stores the encrypted key halves so that the quorum can read them, and lets the ICL grant `maxGrants` more nodes while the job lasts. */
export const storePromptKey = (
  { chain, network, clock }: ClientContext,
  halves: { readonly high: EncryptedInput; readonly low: EncryptedInput },
  preview: Preview,
  maxGrants: number = defaultMaxGrants,
  signal?: AbortSignal,
) =>
  chain.storeKey(
    {
      ...halves,
      readers: [preview.leader, ...preview.verifiers],
      ...(maxGrants > 0 && {
        delegation: {
          delegate: network.coordinator,
          maxGrants,
          until: unixSeconds(clock) + network.limits.job_seconds + graceSeconds,
        },
      }),
    },
    signal,
  )
