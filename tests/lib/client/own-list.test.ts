import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import type { Address } from '../../../lib/codecs.ts'
import type { SubmitJob } from '../../../lib/schemas/jobs.ts'
import type { BlockId, ListStatement, PassReason } from '../../../lib/schemas/list.ts'
import type { ReadingGrant } from '../../../lib/schemas/reading.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { statementBytes } from '../../../lib/statements.ts'
import { aHash } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { grantFor, grantOf, privateKeyOf } from '../../sample-reading.ts'
import { addressAt } from '../make-receipt.ts'
import { createFakeWorld, type FakeOptions, keyBlock, nodes, pool } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'

const run = async (options: FakeOptions, wish: { readonly verifierCount?: number } = {}) => {
  const world = await createFakeWorld(options)
  const outcome = await infer(world.context, 'Why?', { model, ...wish }).catch(
    (error: { code?: string; message: string; hint?: string }) => error,
  )
  return { outcome, world }
}

const nodeKey = (position: number) => privateKeyOf(`n${position + 1}`)
const other = aHash(`0x${'d1'.repeat(32)}`)

describe('a list of the ICL', () => {
  const untrusted = async (options: FakeOptions, what: string) => {
    const { outcome, world } = await run(options)
    expect(outcome).toMatchObject({
      ...{ code: 'quorum-untrusted', message: `The ICL chose ${what}` },
      hint: expect.stringContaining('Do not use this ICL'),
    })
    // Nobody can read the key, and there is no job.
    expect([...world.callsOf('commitList'), ...world.callsOf('submitJob')]).toEqual([])
  }

  it('is asked for with the handles, the block and the terms of the key', async () => {
    const { world } = await run({})
    const { list } = world.callsOf('submitJob')[0]!.input as SubmitJob
    const { kpHighHandle, kpLowHandle, terms } = list.body
    expect(world.callsOf('drawList').map(({ input }) => input)).toEqual([
      { kpHighHandle, kpLowHandle, block_number: keyBlock.number, terms, wait: 20 },
    ])
  })

  it('ends in time although the clock of this client is a day ahead', async () => {
    const { context, callsOf } = await createFakeWorld()
    const { clock } = context
    const ahead = { ...clock, now: () => clock.now() + 86_400_000 }
    await infer({ ...context, clock: ahead }, 'Why?', { model })
    const { until } = callsOf('submitJob')[0]!.input as SubmitJob
    const lastsSeconds = until - clock.now() / 1000
    expect(lastsSeconds).toBeLessThanOrEqual(context.network.limits.job_seconds + 600)
  })

  it('must be the one that chain and pool give, in that order', async () => {
    const changes: readonly ((list: ListStatement) => ListStatement['list'])[] = [
      ({ list }) => list.toReversed(),
      ({ list }) => list.with(2, nodeAddress('7')),
      ({ list }) => list.slice(0, 3),
      ({ list }) => [...list, nodeAddress('7')],
    ]
    for (const change of changes) {
      const options = { changeList: (list: ListStatement) => ({ list: change(list) }) }
      await untrusted(options, 'another list than chain and pool give')
    }
  })

  it('must be of this key, this client and these terms', async () => {
    const changes: readonly ((list: ListStatement) => Partial<ListStatement>)[] = [
      () => ({ kpHighHandle: 1n }),
      () => ({ kpLowHandle: 1n }),
      () => ({ client: nodeAddress('7') }),
      ({ terms }) => ({ terms: { ...terms, salt: 'A'.repeat(43) } }),
    ]
    for (const changeList of changes) {
      await untrusted({ changeList }, 'a list for another key, client or other terms')
    }
  })

  it('must be signed by a key that the ICL has published', async () => {
    const stranger = await signingKeyFromSeed(new Uint8Array(32).fill(77))
    const unsigned = 'a list that none of its published keys has signed'
    await untrusted(
      { changeSignedList: ({ body }) => ({ body: { ...body, at: body.at + 1 } }) },
      unsigned,
    )
    await untrusted({ changeSignedList: () => ({ key: stranger.publicKey }) }, unsigned)
    // The same list each time, so that a stranger can sign it well.
    const { world } = await run({})
    const { list } = world.callsOf('submitJob')[0]!.input as SubmitJob
    const signature = await stranger.sign(statementBytes(list.body))
    const forged = { key: stranger.publicKey, signature }
    await untrusted({ changeSignedList: () => forged }, unsigned)
  })

  it('must come with a usable reading key of each node, which its own wallet signed for this chain', async () => {
    const swapped = (change: (grants: ReadingGrant[]) => ReadingGrant[]): FakeOptions => ({
      changeDrawn: ({ reading }) => ({ reading: change(reading) }),
    })
    const n = (at: number) => `a list with a reading key that ${nodes[at]} has not signed`
    const [own, elsewhere] = [await grantOf(privateKeyOf('icl')), await grantOf(nodeKey(0), 1)]
    await untrusted(
      swapped(([, ...rest]) => [own, ...rest]),
      n(0),
    )
    await untrusted(
      swapped(([, ...rest]) => [elsewhere, ...rest]),
      n(0),
    )
    await untrusted(
      swapped(([a, b, ...rest]) => [b!, a!, ...rest]),
      n(0),
    )
    await untrusted(
      swapped(([a, b, ...rest]) => [a!, { ...b!, key: own.key }, ...rest]),
      n(1),
    )
    await untrusted(
      swapped(([a, , ...rest]) => [a!, a!, ...rest]),
      n(1),
    )
    const tooFew = 'a list without a reading key for each node'
    await untrusted(
      swapped((grants) => grants.slice(1)),
      tooFew,
    )
    await untrusted(
      swapped(() => []),
      tooFew,
    )
    // A node may sign anything, also a key of small order.
    const weak = await grantFor(nodeKey(0), Buffer.alloc(32).toString('base64url'))
    await untrusted(
      swapped(([, ...rest]) => [weak, ...rest]),
      'a list with a reading key that cannot be used',
    )
  })

  it('must seat nodes that are active on chain for the tier, every one of them', async () => {
    for (const inactive of nodes.slice(0, 3)) {
      const what = `${inactive}, which is not active on chain for that tier`
      await untrusted({ inactive }, what)
    }
  })

  it('is asked for again while it seats a node that has just left', async () => {
    for (const looks of [1, 3]) {
      let left = looks
      const passed = [{ position: 0, reason: 'stake-unbonding' as const, at: 1 }]
      const options: { inactive?: Address } & FakeOptions = {
        changeList: ({ list }) => {
          options.inactive = list[0]!
          return left-- > 0 ? {} : { passed }
        },
      }
      const { world } = await run(options)
      expect(world.callsOf('drawList')).toHaveLength(looks + 1)
      expect(world.callsOf('commitList')).toMatchObject([{ input: { mask: 0b1110 } }])
    }
  })

  it('may pass over nodes that are busy, and the next ones are seated and let in', async () => {
    const passed = [{ position: 1, reason: 'busy' as const, at: 1 }]
    const { world } = await run({ changeList: () => ({ passed }) })
    expect(world.callsOf('commitList')).toMatchObject([{ input: { mask: 0b1101 } }])
  })

  describe('that passes over many', () => {
    const nodes = Array.from({ length: 9 }, (_, index) => ({
      ...{ ...pool[0]!, address: addressAt(index), weight: 10 + index },
    }))
    const committedMask = async (reasons: readonly PassReason[]) => {
      const passed = reasons.map((reason, position) => ({ position, reason, at: 1 }))
      const { outcome, world } = await run({ pool: nodes, changeList: () => ({ passed }) })
      const [committed] = world.callsOf('commitList')
      return (committed?.input as { mask: number } | undefined)?.mask ?? outcome
    }
    const gone = (count: number) => Array.from({ length: count }, () => 'no-heartbeat' as const)

    it('is believed with four that cannot work, or with any that are busy', async () => {
      expect(await committedMask(gone(4))).toBe(0b0111_0000)
      const busy = Array.from({ length: 6 }, () => 'busy' as const)
      expect(await committedMask(busy)).toBe(0b1_1100_0000)
      expect(await committedMask([...gone(4), 'busy', 'busy'])).toBe(0b1_1100_0000)
    })

    it('is not believed with five, but for those after the last seat', async () => {
      expect(await committedMask(gone(5))).toMatchObject({
        ...{ code: 'quorum-untrusted', message: expect.stringContaining('passes over 5 nodes') },
      })
      const late = [3, 4, 5, 6, 7, 8].map((position) => ({
        ...{ position, reason: 'no-heartbeat' as const, at: 1 },
      }))
      const { world } = await run({ pool: nodes, changeList: () => ({ passed: late }) })
      expect(world.callsOf('commitList')).toMatchObject([{ input: { mask: 0b111 } }])
    })

    it('has too few when fewer than the quorum can work', async () => {
      expect(await committedMask(gone(7))).toMatchObject({
        ...{ code: 'not-enough-nodes', retryable: true },
        message: expect.stringContaining('2 of the list can work now'),
      })
    })
  })
})

describe('the block of a key', () => {
  const moved: BlockId = { number: 8n, hash: other }

  it('that a reorganisation moves gives another list, which is asked for again', async () => {
    for (const after of [moved, { ...keyBlock, hash: other }]) {
      const { outcome, world } = await run({ blocks: [keyBlock, after], iclBlock: after })
      expect(outcome).toMatchObject({ status: 'accepted', receipt: { list: { block: after } } })
      const asked = world.callsOf('drawList').map(({ input }) => input)
      expect(asked.at(-1)).toMatchObject({ block_number: after.number })
      expect(asked).toHaveLength(2)
    }
  })

  it('that the ICL does not see for good ends the job before anybody can read the key', async () => {
    for (const iclBlock of [moved, { ...keyBlock, hash: other }]) {
      const { outcome, world } = await run({ iclBlock })
      expect(outcome).toMatchObject({
        ...{ code: 'block-differs', retryable: true },
        hint: expect.stringContaining('another chain RPC'),
      })
      expect(world.callsOf('commitList')).toEqual([])
      expect(world.callsOf('drawList')).toHaveLength(4)
    }
  })

  it('is read again, so that no list of a block that has gone is committed to', async () => {
    const { outcome, world } = await run({
      blocks: [keyBlock, keyBlock, moved],
      iclBlock: keyBlock,
    })
    // The ICL is slower to see it: it still knows the old block.
    expect((outcome as { status?: string }).status).toBe('accepted')
    expect(world.callsOf('drawList')).toHaveLength(1)
    const gone = await run({ blocks: [keyBlock, moved], iclBlock: keyBlock })
    expect(gone.outcome).toMatchObject({ code: 'block-differs' })
    expect(gone.world.callsOf('commitList')).toEqual([])
  })
})
