import { z } from 'zod'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Uploader } from '../store/store.ts'
import { type KuboRpc, readKubo } from './kubo-rpc.ts'

const cachedMs = 60_000
const rememberedFullMs = 5_000

const size = z.number().nonnegative()
const RepoSize = z.object({ RepoSize: size, StorageMax: size })

/** The share of Kubo's storage up to which each may upload. Outputs and pools have room when prompts have used theirs. */
const shareOf: Readonly<Record<Uploader, number>> = { wallet: 0.5, node: 0.75, icl: 1 }

/** Checks the room in Kubo, whose limit is `Datastore.StorageMax`. It may be exceeded by about one minute's uploads. */
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
    has: async (uploader: Uploader, size: number, signal: AbortSignal | undefined) => {
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
