import { describe, expect, it } from 'vitest'
import type { Blobs } from '../../icl/blobs/blobs.ts'
import { requestBudgetMs } from '../../icl/http/budget.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { freshIcl, icl, startIcl } from '../icl/fresh-icl.ts'
import { listedKey, storedKey } from '../icl/test-client.ts'
import { beat, joinNode, modelId, walletOf } from '../icl/test-icl.ts'

// Callers give up after 15 s, and 10 s after the time for which they asked to be held.
const shortestPatienceMs = 10_000

freshIcl()

/** What a call ends with, and how long that took by the ICL's clock. */
async function timed(work: Promise<unknown>) {
  const began = icl.clock.now()
  const outcome = await icl.clock.until(work.catch((error: unknown) => error))
  return { outcome, ms: icl.clock.now() - began }
}

describe('a chain RPC that hangs', () => {
  it('is told as such, and well before a caller would take the ICL for the one that hangs', async () => {
    const client = icl.api(walletOf('client').signer)
    const node = await icl.clock.until(joinNode(icl, 'a'))
    await icl.clock.advance(20_000)
    icl.chain.hangs = true
    const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
    for (const call of [
      () => client.previewQuorum({ query }),
      () => icl.api().getNode({ params: { address: node.address } }),
      () =>
        client.putBlob({
          query: { kpHighHandle: 1n, kpLowHandle: 2n, block_number: 7n },
          body: new Uint8Array(99).fill(1),
        }),
    ]) {
      const { outcome, ms } = await timed(call())
      expect(outcome).toBeInstanceOf(ProblemError)
      expect(outcome).toMatchObject({ code: 'chain-unavailable', retryable: true })
      expect((outcome as ProblemError).message).toMatch(/^the chain RPC of the ICL did not respond/)
      expect(ms).toBe(requestBudgetMs)
      expect(ms).toBeLessThan(shortestPatienceMs)
    }
  })

  it('holds up each of two requests that look for one key for as long as that one may wait', async () => {
    await icl.clock.until(Promise.all(['a', 'b', 'c'].map((name) => joinNode(icl, name))))
    const { api, request } = await icl.clock.until(listedKey(icl))
    await icl.clock.advance(20_000)
    icl.chain.hangs = true
    const held = timed(api.drawList({ body: { ...request, wait: 20 } }, { timeoutMs: 30_000 }))
    await icl.clock.advance(1_000)
    const { kpHighHandle, kpLowHandle, block_number } = request
    const { outcome, ms } = await timed(
      api.putBlob(
        { query: { kpHighHandle, kpLowHandle, block_number }, body: new Uint8Array(99) },
        { attempts: 1 },
      ),
    )
    expect([outcome, ms]).toEqual([
      expect.objectContaining({ code: 'chain-unavailable' }),
      requestBudgetMs,
    ])
    const { outcome: drawn, ms: heldMs } = await held
    expect([drawn, heldMs]).toEqual([
      expect.objectContaining({ code: 'chain-unavailable' }),
      requestBudgetMs + 20_000,
    ])
  })

  it('keeps no heartbeat from being taken', async () => {
    const node = await icl.clock.until(joinNode(icl, 'a'))
    await icl.clock.advance(20_000)
    icl.chain.hangs = true
    const { outcome, ms } = await timed(beat(icl, node))
    expect(outcome).toMatchObject({ status: 'ok', eligible: false, reasons: ['chain-unavailable'] })
    expect(ms).toBeLessThan(5_000)
  })
})

/** The chain fails every read for so long. */
const failFor = async (ms: number) => {
  icl.chain.down = new SvcError('chain-rpc-failed', 'reading: it fails', {
    hint: '',
    retryable: true,
  })
  await icl.clock.sleep(ms)
  icl.chain.down = undefined
}

describe('a chain RPC that fails', () => {
  const drawn = async () => {
    for (const name of ['a', 'b', 'c']) await icl.clock.until(joinNode(icl, name))
    const key = await icl.clock.until(listedKey(icl))
    await icl.clock.advance(20_000)
    return key
  }
  it('for a moment fails no draw and no preview', async () => {
    const { api, request } = await drawn()
    const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
    for (const call of [
      () => api.drawList({ body: request }),
      () => api.previewQuorum({ query }),
    ]) {
      void failFor(3_000)
      const { outcome, ms } = await timed(call())
      expect(outcome).not.toBeInstanceOf(Error)
      expect(ms).toBeLessThan(4_000)
    }
  })

  it('for longer fails a draw when its time is over, which says when to ask again', async () => {
    const { api, request } = await drawn()
    void failFor(60_000)
    const { outcome, ms } = await timed(api.drawList({ body: request }))
    expect(outcome).toMatchObject({ code: 'chain-unavailable', retryAfterSeconds: 2 })
    expect(ms).toBeGreaterThan(requestBudgetMs / 4)
    expect(ms).toBeLessThanOrEqual(requestBudgetMs)
  })
})

it('a chain RPC that fails is named to callers without its own words', async () => {
  const node = await icl.clock.until(joinNode(icl, 'a'))
  await icl.clock.advance(20_000)
  icl.chain.down = new SvcError('chain-rpc-failed', 'reading: it fails (project 1234abcd)', {
    hint: '',
    retryable: true,
    cause: new Error('project 1234abcd'),
  })
  const { outcome } = await timed(icl.api().getNode({ params: { address: node.address } }))
  expect(outcome).toMatchObject({ code: 'chain-unavailable' })
  expect((outcome as ProblemError).message).toBe('the chain RPC fails inside')
})

describe('a blob store that hangs', () => {
  it('is told as such', async () => {
    await icl.stop()
    const hanging = { ...icl.deps.blobs, get: () => new Promise<undefined>(() => {}) }
    await startIcl({ blobs: hanging })
    const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    const { outcome, ms } = await timed(icl.api().getBlob({ params: { cid } }))
    expect(outcome).toMatchObject({ code: 'unavailable' })
    expect((outcome as ProblemError).message).toMatch(/^the blob store of the ICL did not respond/)
    expect(ms).toBe(requestBudgetMs)
  })

  it('has stopped what the request put there', async () => {
    await icl.stop()
    const signals: (AbortSignal | undefined)[] = []
    const put: Blobs['put'] = (_cid, _bytes, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    await startIcl({ blobs: { ...icl.deps.blobs, put } })
    const body = new Uint8Array(99).fill(1)
    const query = storedKey(icl, 'client')
    const upload = icl.api(walletOf('client').signer).putBlob({ query, body })
    const { outcome, ms } = await timed(upload)
    expect(outcome).toMatchObject({ code: 'unavailable' })
    expect(ms).toBe(requestBudgetMs)
    expect(signals.map((signal) => signal?.reason)).toEqual([
      expect.objectContaining({ code: 'unavailable' }),
    ])
  })
})
