import { keccak256, stringToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { cidOf } from '../../lib/cid.ts'
import type { Address } from '../../lib/codecs.ts'
import { utf8 } from '../../lib/digest.ts'
import { inPoolOrder } from '../../lib/draw.ts'
import { type PoolSnapshot, readPool, snapshotPool } from '../../lib/pool-snapshot.ts'

const poolOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    address: keccak256(stringToHex(`node ${index}`)).slice(0, 42) as Address,
    weight: 1 + (index % 200),
    tiers: [index % 3],
    models: index % 2 === 0 ? ['openai:a'] : ['openai:a', 'openai:b'],
    comparators: ['exact' as const],
  }))

const from =
  ({ parts }: PoolSnapshot) =>
  async (cid: string) => {
    const bytes = parts.get(cid)
    if (!bytes) throw new Error(`there is no ${cid}`)
    return bytes
  }

describe('a pool snapshot', () => {
  for (const count of [0, 1, 64, 65, 10_000]) {
    it(`gives ${count} nodes back in order`, async () => {
      const pool = poolOf(count)
      const snapshot = await snapshotPool(pool)
      const { nodes, cids } = await readPool(snapshot.root, from(snapshot))
      expect(nodes).toEqual(inPoolOrder(pool))
      expect(new Set(cids)).toEqual(new Set(snapshot.parts.keys()))
      expect(snapshot.parts.size === 1).toBe(count <= 64)
    })
  }

  it('has its name from its nodes, for every ICL that lists them', async () => {
    const pool = poolOf(500)
    const { root } = await snapshotPool(pool)
    expect((await snapshotPool(pool.toReversed())).root).toBe(root)
    const [first, ...rest] = pool
    expect((await snapshotPool([{ ...first!, weight: 151 }, ...rest])).root).not.toBe(root)
  })

  it('of 10,000 nodes has all but a few kilobytes in common with one in which six have changed', async () => {
    const pool = poolOf(10_000)
    const before = await snapshotPool(pool)
    const after = await snapshotPool(pool.slice(6))
    const fresh = [...after.parts].filter(([cid]) => !before.parts.has(cid))
    const bytes = fresh.reduce((sum, [, part]) => sum + part.length, 0)
    expect(bytes).toBeLessThan(25_000)
  })

  it('is refused when a part of it has other content', async () => {
    const snapshot = await snapshotPool(poolOf(100))
    for (const [cid, bytes] of snapshot.parts) {
      const changed = bytes.slice()
      changed[changed.length - 1]! ^= 1
      const load = async (asked: string) => (asked === cid ? changed : await from(snapshot)(asked))
      await expect(readPool(snapshot.root, load)).rejects.toMatchObject({
        code: 'pool-snapshot-invalid',
      })
    }
  })

  it('makes its reader load few parts at a time, whoever wrote it', async () => {
    const branchOf = (cids: readonly string[]) => utf8(['svc-pool-branch-v2', ...cids].join('\n'))
    for (const widths of [
      [1, 1_000],
      [16, 16, 16, 16],
    ]) {
      const parts = new Map<string, Uint8Array<ArrayBuffer>>()
      const put = async (bytes: Uint8Array<ArrayBuffer>) => {
        const cid = await cidOf(bytes)
        parts.set(cid, bytes)
        return cid
      }
      let level = [await put(utf8('svc-pool-v2'))]
      for (const width of widths.toReversed()) {
        level = [await put(branchOf(Array.from({ length: width }, () => level[0]!)))]
      }
      let loading = 0
      let most = 0
      const load = async (cid: string) => {
        loading += 1
        most = Math.max(most, loading)
        await new Promise((resolve) => setImmediate(resolve))
        loading -= 1
        return parts.get(cid)!
      }
      await readPool(level[0]!, load).catch(() => {})
      expect(most).toBeLessThanOrEqual(16)
    }
  })

  it('is read only up to a size, so that no ICL can fill the memory of its clients', async () => {
    const models = Array.from({ length: 64 }, (_, at) => `openai:${String(at).padStart(96, '0')}`)
    const leaf = await snapshotPool(poolOf(64).map((node) => ({ ...node, models })))
    const parts = new Map(leaf.parts)
    const branch = async (cid: string) => {
      const bytes = utf8(
        ['svc-pool-branch-v2', ...Array.from({ length: 16 }, () => cid)].join('\n'),
      )
      const root = await cidOf(bytes)
      parts.set(root, bytes)
      return root
    }
    const root = await branch(await branch(leaf.root))
    let loaded = 0
    const load = async (cid: string) => {
      const bytes = await from({ root, parts })(cid)
      loaded += bytes.length
      return bytes
    }
    await expect(readPool(root, load)).rejects.toThrow('it is too large')
    expect(loaded).toBeLessThan(68 * 1_048_576)
  })

  it('has what each model takes, in one spelling', async () => {
    const [node] = poolOf(1)
    const models = ['openai:a', 'openai:b', 'openai:c', 'openai:d']
    const takes = [
      { model_id: 'openai:a', parts: ['seed' as const, 'stop' as const] },
      { model_id: 'openai:c', parts: [], max_prompt_bytes: 16_384, max_output_tokens: 4_096 },
    ]
    const pool = [{ ...node!, models, takes }]
    const snapshot = await snapshotPool(pool)
    expect((await readPool(snapshot.root, from(snapshot))).nodes).toEqual(pool)
    const text = new TextDecoder().decode(snapshot.parts.get(snapshot.root))
    const told = 'openai:a=seed+stop::,openai:b,openai:c=:16384:4096,openai:d'
    expect(text).toContain(` ${told} `)
    for (const other of ['=stop+seed::', '=::', '=seed+seed::', '=seed', '=magic::', '=seed:1:']) {
      const bytes = utf8(text.replace('=seed+stop::', other))
      await expect(readPool(await cidOf(bytes), async () => bytes)).rejects.toMatchObject({
        code: 'pool-snapshot-invalid',
      })
    }
  })
})
