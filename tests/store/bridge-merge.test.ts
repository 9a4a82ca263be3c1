import { expect, it } from 'vitest'
import { lockOf } from '../../icl/store/bridge/locks.ts'
import { mergePending, type Pending } from '../../icl/store/bridge/merge.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, StoreRecord, Write } from '../../icl/store/store.ts'
import { createDice } from '../simulation/dice.ts'
import { jobOf } from './bridge-world.ts'

/** Saves, drawn at random, that a store takes one after the other, and that store. */
async function drawSaves(seed: number) {
  const dice = createDice(seed)
  const store = createMemoryStore()
  const rows: Pending[] = []
  for (let seq = 1; seq <= 60; seq++) {
    const job = jobOf(dice.pick(['1', '2', '3']), { minTier: seq })
    const base = (await store.findJob(job.id))?.version ?? 0
    const key = `k${dice.between(0, 3)}`
    const cid = `c${dice.between(0, 2)}`
    const value = (await store.findKey(key, seq)) ?? job.id
    const candidates: Write[] = [
      { kind: 'key', key, value: job.id, now: seq, expiresAt: seq + dice.between(1, 20) },
      { kind: 'release-key', key, value },
      { kind: 'keep-blob', cid, until: seq },
      { kind: 'blob', cid, bytes: new Uint8Array([1]), uploader: 'icl', until: seq },
    ]
    const writes: readonly Write[] = dice.chance(0.7)
      ? [{ kind: 'job', job, base }, ...(dice.chance(0.4) ? [dice.pick(candidates)] : [])]
      : [dice.pick(candidates)]
    const id = `w${seq}`
    const isTried = dice.chance(0.1)
    if ((await store.saveAll(writes, id)) === undefined) rows.push({ seq, id, writes, isTried })
  }
  return { store, rows }
}

/** Everything in a store, by what it is. */
async function contentOf(store: Store): Promise<ReadonlyMap<string, StoreRecord>> {
  const content = new Map<string, StoreRecord>()
  for await (const record of store.scan()) content.set(lockOf(record), record)
  return content
}

it('merged saves are all taken in their order, and leave what the saves left', async () => {
  let [before, after] = [0, 0]
  for (let seed = 1; seed <= 200; seed++) {
    const { store, rows } = await drawSaves(seed)
    const merged = mergePending(rows)
    const other = createMemoryStore()
    for (const { writes, id } of merged) {
      expect([seed, id, await other.saveAll(writes, id)]).toEqual([seed, id, undefined])
    }
    expect(await contentOf(other)).toEqual(await contentOf(store))
    for (const { id, writes } of rows.filter(({ isTried }) => isTried)) {
      expect(merged.find((one) => one.id === id)?.writes).toEqual(writes)
    }
    before += rows.length
    after += merged.length
  }
  expect(after).toBeLessThan(before * 0.6)
})
