import { z } from 'zod'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Uploader } from '../store/store.ts'
import { type KuboRpc, readKubo } from './kubo-rpc.ts'

const cachedMs = 60_000
const rememberedFullMs = 5_000

const RepoSize = z.object({
  RepoSize: z.number().nonnegative(),
  StorageMax: z.number().nonnegative(),
})

/** Up to which share of its storage Kubo takes blobs of each: outputs and pools find room when prompts have filled theirs. */
const shareOf: Readonly<Record<Uploader, number>> = { wallet: 0.5, node: 0.75, icl: 1 }

/** Says whether there is room in Kubo, whose `Datastore.StorageMax` is the limit; kept to about one minute's uploads. */
export function createRoom(rpc: KuboRpc, clock: Clock) {
  let usedBytes = 0
  let maxBytes = 0
  let countedAt: MonotonicMs | undefined

  const count = async (signal: AbortSignal | undefined) => {
    const command = 'repo/stat'
    const query = { 'size-only': 'true' }
    const repo = readKubo(RepoSize, command, await rpc({ command, query, signal }))
    usedBytes = repo.RepoSize
    maxBytes = repo.StorageMax
    countedAt = clock.monotonic()
  }
  const fits = (uploader: Uploader, size: number) =>
    usedBytes + size <= shareOf[uploader] * maxBytes

  return {
    has: async (
      uploader: Uploader,
      size: number,
      signal: AbortSignal | undefined,
    ): Promise<boolean> => {
      const ageMs = elapsedSince(clock, countedAt)
      const isOld = ageMs >= (fits(uploader, size) ? cachedMs : rememberedFullMs)
      if (isOld) await count(signal)
      return fits(uploader, size)
    },
    took: (size: number): void => {
      usedBytes += size
    },
  }
}
