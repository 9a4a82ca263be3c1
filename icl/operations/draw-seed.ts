import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { type Address, Hash32, type JobId } from '../../lib/codecs.ts'
import type { DrawSeed } from '../../lib/draw.ts'
import type { Dependencies } from '../dependencies.ts'
import { claimKey } from '../store/claim-key.ts'

const epochMs = 600_000

const EpochBlock = z.object({ number: z.string(), hash: Hash32 })

/** What a draw is for. `ordinal` counts the client's jobs of the epoch, or the draws of the job. */
export type DrawPurpose = {
  readonly client: Address | undefined
  readonly jobId: JobId | undefined
  readonly ordinal: number
  readonly modelId: string
  readonly minTier: number
  readonly count: number
}

/**
 * The seed of a draw: the ICL's deterministic signature over its purpose and the epoch's block, so that asking again for the
 * same gives the same seed. What is left to choose is in docs/protocol.md, "Draws".
 */
export async function drawSeed(deps: Dependencies, purpose: DrawPurpose): Promise<DrawSeed> {
  const epoch = Math.floor(deps.clock.now() / epochMs)
  const block = await epochBlock(deps, epoch)
  const message = new TextDecoder().decode(
    canonicalJson({
      draw: 'svc-draw-v1',
      chain_id: deps.network.chain_id,
      epoch,
      block_number: block.number,
      block_hash: block.hash,
      client: purpose.client ?? null,
      jobId: purpose.jobId ?? null,
      ordinal: purpose.ordinal,
      model_id: purpose.modelId,
      min_tier: purpose.minTier,
      count: purpose.count,
    }),
  )
  return { message, signature: await deps.keys.tally.sign(new TextEncoder().encode(message)) }
}

/** How many jobs a client has submitted in this epoch. */
export const countJobsThisEpoch = (deps: Dependencies, client: Address): Promise<number> =>
  deps.store.countJobsOfClient(client, Math.floor(deps.clock.now() / epochMs) * epochMs)

/** The first block that any replica looked at in this epoch is the epoch's for all. */
async function epochBlock(deps: Dependencies, epoch: number) {
  const { store, chain, clock } = deps
  const key = `epoch:${epoch}`
  const known = await store.findKey(key, clock.now())
  if (known !== undefined) return EpochBlock.parse(JSON.parse(known))
  const expiresAt = clock.now() + 2 * epochMs
  const block = await chain.latestBlock()
  const value = JSON.stringify({ number: block.number.toString(), hash: block.hash })
  return EpochBlock.parse(JSON.parse(await claimKey(deps, key, value, expiresAt)))
}
