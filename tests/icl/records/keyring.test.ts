import { decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { deriveKeys, isReadToken, readTokenOf } from '../../../icl/records/icl-keys.ts'
import {
  activationMs,
  createKeyring,
  listGenerations,
  rotateKeys,
  withdrawKey,
} from '../../../icl/records/keyring.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import { utf8 } from '../../../lib/digest.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { verifyReceipt } from '../../../lib/receipt.ts'
import { codeOf } from '../../code-of.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { runJob } from '../run-job.ts'
import { createTestIcl, joinNode, joinNodes } from '../test-icl.ts'

const secret = new Uint8Array(32).fill(1)
const message = utf8('message')
const claims = {
  iss: 'i',
  sub: 's',
  iat: 1,
  exp: 2,
  jti: 'j',
  cnf: { jkt: 't' },
  att: { backend: 'mock' as const },
}

/** So many ICL processes over one store. */
async function createReplicas(count: number, store: Store = createMemoryStore()) {
  const clock = createVirtualClock()
  const replicas = []
  for (let index = 0; index < count; index++) {
    const keys = await createKeyring({ store, clock }, secret)
    await keys.refresh()
    replicas.push(keys)
  }
  const [first, second] = replicas
  if (!first) throw new RangeError('There is no replica')
  return { clock, store, replicas, first, second: second ?? first }
}

const kidsOf = ({ jwks }: { readonly jwks: { readonly keys: readonly { kid: string }[] } }) =>
  jwks.keys.map(({ kid }) => kid)

describe('signing keys', () => {
  it('are the same on every replica, and those from before there were rotations', async () => {
    const { first, second } = await createReplicas(2)
    const fixed = await deriveKeys(secret)
    expect(first.tally.publicKey).toBe(fixed.tally.publicKey)
    expect(kidsOf(first).sort()).toEqual(kidsOf(fixed).sort())
    expect(await second.tally.sign(message)).toBe(await first.tally.sign(message))
  })

  it('are published by every replica before any of them signs with them', async () => {
    const { clock, store, replicas, first, second } = await createReplicas(2)
    const before = first.tally.publicKey
    expect(await rotateKeys(store, clock)).toEqual({
      generation: 2,
      activeAt: clock.now() + activationMs,
    })
    await first.refresh()
    expect(first.tally.publicKey).toBe(before)
    expect(first.jwks.keys).toHaveLength(4)
    expect(second.jwks.keys).toHaveLength(2)
    await second.refresh()
    await clock.advance(activationMs - 1)
    expect(replicas.map(({ tally }) => tally.publicKey)).toEqual([before, before])
    await clock.advance(1)
    const after = first.tally.publicKey
    expect(after).not.toBe(before)
    for (const keys of replicas) {
      expect(keys.tally.publicKey).toBe(after)
      expect(keys.jwks.keys.map(({ x }) => x)).toEqual(expect.arrayContaining([before, after]))
      const { kid } = decodeProtectedHeader(await keys.signCertificate(claims))
      expect(kidsOf(keys)).toContain(kid)
      expect(kid).not.toBe(
        decodeProtectedHeader(await (await deriveKeys(secret)).signCertificate(claims)).kid,
      )
    }
    const late = await createKeyring({ store, clock }, secret)
    await late.refresh()
    expect(late.tally.publicKey).toBe(after)
  })

  it('rotate one at a time', async () => {
    const { clock, store } = await createReplicas(1)
    await Promise.all([rotateKeys(store, clock), rotateKeys(store, clock)])
    expect(await listGenerations(store, clock)).toHaveLength(2)
    expect(await rotateKeys(store, clock)).toBeUndefined()
    await clock.advance(activationMs)
    expect((await rotateKeys(store, clock))?.generation).toBe(3)
  })

  it('stay published when the secret is another one', async () => {
    const { clock, store, first } = await createReplicas(1)
    const former = kidsOf(first)
    const keys = await createKeyring({ store, clock }, new Uint8Array(32).fill(2))
    await keys.refresh()
    expect(kidsOf(keys)).toEqual(expect.arrayContaining(former))
    expect(former).not.toContain(keys.tally.thumbprint)
    await first.refresh()
    expect(kidsOf(first)).toContain(keys.tally.thumbprint)
  })

  it('say when one of the keys that sign is withdrawn', async () => {
    for (const algorithm of ['EdDSA', 'ES256']) {
      const { clock, store, first } = await createReplicas(1)
      await first.refresh()
      const key = first.jwks.keys.find(({ alg }) => alg === algorithm)
      await withdrawKey(store, clock, key?.kid ?? '')
      expect(first.isPublished).toBe(true)
      await first.refresh()
      expect(first.isPublished).toBe(false)
    }
  })

  it('are published no more, and sign no more, once they are withdrawn', async () => {
    const { clock, store, first } = await createReplicas(1)
    const stolen = first.tally
    await rotateKeys(store, clock)
    await clock.advance(activationMs)
    await first.refresh()
    const second = first.tally
    expect(await withdrawKey(store, clock, second.thumbprint)).toBe(true)
    expect(await withdrawKey(store, clock, second.thumbprint)).toBe(false)
    expect(await withdrawKey(store, clock, 'unknown')).toBe(false)
    await first.refresh()
    expect(kidsOf(first)).not.toContain(second.thumbprint)
    expect(first.tally.publicKey).toBe(stolen.publicKey)
    await rotateKeys(store, clock)
    await withdrawKey(store, clock, stolen.thumbprint)
    await clock.advance(activationMs)
    await first.refresh()
    expect(kidsOf(first)).not.toContain(stolen.thumbprint)
    expect([stolen.publicKey, second.publicKey]).not.toContain(first.tally.publicKey)
  })

  it('leave no private key in the store', async () => {
    const { clock, store } = await createReplicas(1)
    await rotateKeys(store, clock)
    const records = await store.listKeys('keyring:', clock.now())
    const held = records.map(({ value }) => value).join()
    expect(held).toContain('"crv":"P-256"')
    expect(held).not.toContain('"d"')
  })

  it('stay as they are while the store is away, and never sign unpublished', async () => {
    const { clock, store } = await createReplicas(1)
    const away = new Set<'save' | 'listKeys'>()
    const refuse = async () => {
      throw new ProblemError('unavailable', 'away')
    }
    const flaky: Pick<Store, 'listKeys' | 'save'> = {
      save: (...args) => (away.has('save') ? refuse() : store.save(...args)),
      listKeys: (...args) => (away.has('listKeys') ? refuse() : store.listKeys(...args)),
    }
    const keys = await createKeyring({ store: flaky, clock }, secret)
    const before = keys.tally.publicKey
    await rotateKeys(store, clock)
    await clock.advance(activationMs)
    away.add('save')
    expect(await codeOf(keys.refresh())).toBe('unavailable')
    expect(keys.tally.publicKey).toBe(before)
    away.add('listKeys')
    expect(await codeOf(keys.refresh())).toBe('unavailable')
    away.clear()
    await keys.refresh()
    expect(keys.tally.publicKey).not.toBe(before)
  })

  it('say so when the store holds something else', async () => {
    const { clock, store, first } = await createReplicas(1)
    const key = 'keyring:generation:2'
    await store.save({ kind: 'key', key, value: '{}', now: 0, expiresAt: clock.now() + 1 })
    expect(await codeOf(first.refresh())).toBe('store-corrupt')
    await store.save({ kind: 'release-key', key, value: '{}' })
    const value = '{"activeAt":0}'
    const expiresAt = clock.now() + 1
    await store.save({ kind: 'key', key: 'keyring:generation:x', value, now: 0, expiresAt })
    expect(await codeOf(first.refresh())).toBe('store-corrupt')
  })
})

it('tokens and tags outlast a rotation', async () => {
  const { clock, store, first } = await createReplicas(1)
  const token = await first.sealToken('preview', { a: 1 })
  const tag = await first.tag('challenge', message)
  const readToken = await readTokenOf(first, 'job')
  await rotateKeys(store, clock)
  await clock.advance(activationMs)
  await first.refresh()
  expect(await first.openToken('preview', token)).toEqual({ a: 1 })
  expect(await first.isTag('challenge', message, tag)).toBe(true)
  expect(await isReadToken(first, 'job', readToken)).toBe(true)
})

it('receipts from before and after a rotation hold with the published keys', async () => {
  const store = createMemoryStore()
  const keys = await createKeyring(
    { store, clock: { now: () => icl.clock.now() } as never },
    secret,
  )
  const icl = await createTestIcl({ store, keys })
  const nodes = await joinNodes(icl, 3)
  const receiptOf = async () => {
    const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const { jobId, readToken } = job
    return job.api.getReceipt({ params: { jobId } }, { readToken })
  }
  const before = await receiptOf()
  await rotateKeys(store, icl.clock)
  // The background refreshes every 20 s.
  await icl.clock.advance(activationMs)
  const rejoined = await Promise.all(nodes.map(({ name }) => joinNode(icl, name)))
  nodes.splice(0, nodes.length, ...rejoined)
  const after = await receiptOf()
  expect(after.tally.key).not.toBe(before.tally.key)
  const iclKeys = (await icl.api().getJwks()).keys.map(({ x }) => x)
  await verifyReceipt(before, { iclKeys })
  await verifyReceipt(after, { iclKeys })
  await icl.stop()
})
