import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { claimKey } from '../store/claim-key.ts'
import { putPool } from './keep-pool.ts'

const answerMs = 4_000
const lookAgainMs = 100
const cachedMs = 10_000

const wantedPrefix = (holder: string): string => `pool-wanted:${holder}:`
const givenKey = (holder: string, poolCid: string): string => `pool-given:${holder}:${poolCid}`

const PoolAnswer = z.enum(['kept', 'no-room', 'gone'])

/** What came of asking another replica for a pool: it put it where blobs are kept, has no room there, or does not have it. */
export type PoolAnswer = z.output<typeof PoolAnswer>

/** Asks the replica that holds a pool to put it where blobs are kept; `gone` when it does not answer for 4 s. */
export async function askForPool(
  { store, clock, replicaId }: Dependencies,
  holder: string,
  poolCid: string,
): Promise<PoolAnswer> {
  const until = clock.now() + answerMs
  await claimKey({ store, clock }, `${wantedPrefix(holder)}${poolCid}`, replicaId, until)
  for (;;) {
    const answer = await store.findKey(givenKey(holder, poolCid), clock.now())
    if (answer !== undefined) return PoolAnswer.parse(answer)
    if (clock.now() >= until) return 'gone'
    await clock.sleep(lookAgainMs)
  }
}

/** Puts what other replicas ask this one for where blobs are kept, and tells them. */
export async function givePools(deps: Dependencies): Promise<void> {
  const { store, clock, replicaId, pool } = deps
  if (pool.held.isEmpty()) return
  const prefix = wantedPrefix(replicaId)
  for (const { key, value: asker } of await store.listKeys(prefix, clock.now())) {
    const poolCid = key.slice(prefix.length)
    const answer = await give(deps, poolCid)
    const now = clock.now()
    await store.save({
      kind: 'key',
      key: givenKey(replicaId, poolCid),
      value: answer,
      now,
      expiresAt: now + cachedMs,
    })
    await store.save({ kind: 'release-key', key, value: asker })
  }
}

async function give(deps: Dependencies, poolCid: string): Promise<PoolAnswer> {
  const parts = deps.pool.held.partsOf(poolCid)
  if (!parts) return 'gone'
  return (await putPool(deps, parts)) ? 'kept' : 'no-room'
}
