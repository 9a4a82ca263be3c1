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

/** A pool that names its page so many times, as only a hostile ICL writes it. */
async function manyTimes({ root, parts }: PoolSnapshot, times: number): Promise<PoolSnapshot> {
  const [header, line] = new TextDecoder().decode(parts.get(root)).split('\n')
  const bytes = utf8([header, ...Array.from({ length: times }, () => line)].join('\n'))
  const hostile = await cidOf(bytes)
  return { root: hostile, parts: new Map([...parts, [hostile, bytes]]) }
}

describe('a pool snapshot', () => {
  for (const [count, pages] of [
    [0, 0],
    [1, 1],
    [256, 1],
    [257, 2],
    [10_000, 32],
    [50_000, 32],
  ] as const) {
    it(`gives ${count} nodes back in order, in ${pages} pages`, async () => {
      const pool = poolOf(count)
      const snapshot = await snapshotPool(pool)
      const { nodes, cids } = await readPool(snapshot.root, from(snapshot))
      expect(nodes).toEqual(inPoolOrder(pool))
      expect(new Set(cids)).toEqual(new Set(snapshot.parts.keys()))
      expect(snapshot.parts.size).toBe(1 + pages)
    })
  }

  it('has its name from its nodes, for every ICL that lists them', async () => {
    const pool = poolOf(500)
    const { root } = await snapshotPool(pool)
    expect((await snapshotPool(pool.toReversed())).root).toBe(root)
    const [first, ...rest] = pool
    expect((await snapshotPool([{ ...first!, weight: 151 }, ...rest])).root).not.toBe(root)
  })

  it('of 10,000 nodes shares all but its root with one of other weights, and most with one without six nodes', async () => {
    const pool = poolOf(10_000)
    const before = await snapshotPool(pool)
    const freshBytes = async (changed: typeof pool) => {
      const { parts } = await snapshotPool(changed)
      const fresh = [...parts].filter(([cid]) => !before.parts.has(cid))
      return [fresh.length, fresh.reduce((sum, [, part]) => sum + part.length, 0)] as const
    }
    const [roots, rootBytes] = await freshBytes(pool.map((node) => ({ ...node, weight: 7 })))
    expect(roots).toBe(1)
    expect(rootBytes).toBeLessThan(25_000)
    const [parts, bytes] = await freshBytes(pool.slice(6))
    expect(parts).toBeLessThanOrEqual(7)
    expect(bytes).toBeLessThan(200_000)
  })

  it('has pages that fit into a blob, and addresses with one beginning', async () => {
    const models = Array.from({ length: 64 }, (_, at) => `openai:${String(at).padStart(96, '0')}`)
    const pool = poolOf(300).map((node) => ({
      ...{ ...node, models },
      address: `0x${'0'.repeat(20)}${node.address.slice(22)}` as Address,
    }))
    const snapshot = await snapshotPool(pool)
    for (const part of snapshot.parts.values()) expect(part.length).toBeLessThanOrEqual(524_288)
    expect((await readPool(snapshot.root, from(snapshot))).nodes).toEqual(inPoolOrder(pool))
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

  it('is refused when a node whose rest is known is spelled otherwise', async () => {
    const { root, parts } = await snapshotPool(poolOf(12).filter((_, at) => at % 6 === 0))
    const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)
    const [page = ''] = [...parts.keys()]
    const lines = text(parts.get(page)).split('\n')
    const last = lines.pop()!
    for (const other of [
      last.toUpperCase(),
      last.replace(/[a-f]/, (letter) => letter.toUpperCase()),
    ]) {
      const written = utf8([...lines, other].join('\n'))
      const cid = await cidOf(written)
      const top = utf8(text(parts.get(root)).replace(page, cid))
      const load = async (asked: string) => (asked === cid ? written : top)
      await expect(readPool(await cidOf(top), load)).rejects.toThrow('is no node')
    }
  })

  it('makes its reader load few parts at a time, whoever wrote it', async () => {
    const { root, parts } = await manyTimes(await snapshotPool(poolOf(1)), 1_000)
    let loading = 0
    let most = 0
    const load = async (cid: string) => {
      loading += 1
      most = Math.max(most, loading)
      await new Promise((resolve) => setImmediate(resolve))
      loading -= 1
      return parts.get(cid)!
    }
    await expect(readPool(root, load)).rejects.toThrow('there twice')
    expect(most).toBe(16)
  })

  it('is read only up to a size, so that no ICL can fill the memory of its clients', async () => {
    const models = Array.from({ length: 64 }, (_, at) => `openai:${String(at).padStart(96, '0')}`)
    const page = await snapshotPool(poolOf(64).map((node) => ({ ...node, models })))
    const large = await manyTimes(page, 1_000)
    let loaded = 0
    const load = async (cid: string) => {
      const bytes = await from(large)(cid)
      loaded += bytes.length
      return bytes
    }
    await expect(readPool(large.root, load)).rejects.toThrow('it is too large')
    expect(loaded).toBeLessThan(80 * 1_048_576)
  })

  it('has what each model takes and asks for, in one spelling', async () => {
    const [node] = poolOf(1)
    const models = ['openai:a', 'openai:b', 'openai:c', 'openai:d@1']
    const takes = [
      { model_id: 'openai:a', parts: ['seed' as const, 'stop' as const] },
      { model_id: 'openai:c', parts: [], max_prompt_bytes: 16_384, max_output_tokens: 4_096 },
    ]
    const asks = [
      { model_id: 'openai:c', input: 3n, output: 2n ** 96n - 1n },
      { model_id: 'openai:d@1', input: 0n, output: 5n },
    ]
    const pool = [{ ...node!, models, takes, asks, delivery: 17n }]
    const snapshot = await snapshotPool(pool)
    expect((await readPool(snapshot.root, from(snapshot))).nodes).toEqual(pool)
    const [page, root] = [...snapshot.parts.values()].map((part) => new TextDecoder().decode(part))
    const most = '79228162514264337593543950335'
    const told = `openai:a=seed+stop::,openai:b,openai:c=:16384:4096@3/${most},openai:d@1=@0/5`
    expect(page).toContain(` ${told} exact 17`)
    for (const other of ['=stop+seed::', '=::', '=seed+seed::', '=seed', '=magic::', '=seed:1:']) {
      const changed = utf8(page!.replace('=seed+stop::', other))
      const weights = utf8(root!.replace(/bafkrei\w+/, await cidOf(changed)))
      const name = await cidOf(weights)
      const load = async (cid: string) => (cid === name ? weights : changed)
      await expect(readPool(name, load)).rejects.toMatchObject({
        code: 'pool-snapshot-invalid',
        message: expect.stringContaining('is no node'),
      })
    }
  })
})
