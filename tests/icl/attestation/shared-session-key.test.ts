import { beforeEach, expect, it } from 'vitest'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { codeOf } from '../../code-of.ts'
import { useReplicas } from '../replica-set.ts'
import { attestationOf, createShared, type Shared, type TestIcl, walletOf } from '../test-icl.ts'

const replicas = useReplicas()
const key = await signingKeyFromSeed(new Uint8Array(32).fill(4))
const hour = 3_600
let shared: Shared
let first: TestIcl
let second: TestIcl

beforeEach(async () => {
  shared = createShared()
  first = await replicas.start(shared, 'a')
  second = await replicas.start(shared, 'b')
})

/** Attests a wallet with the one key, which both have; the code of the refusal, if any. */
async function attest(icl: TestIcl, name: string, hours = 1): Promise<string | undefined> {
  const { address, signer } = walletOf(name)
  const api = icl.api(signer)
  const { nonce } = await api.getChallenge({ params: { address } })
  const notAfter = Math.floor(icl.clock.now() / 1000) + hours * hour
  return codeOf(api.verifyAttestation({ body: await attestationOf(name, nonce, key, notAfter) }))
}

it('one session key serves one wallet while a session of it may last', async () => {
  expect(await attest(first, 'n1')).toBeUndefined()
  expect(await attest(second, 'n2')).toBe('session-key-taken')
  expect(await shared.store.findNode(walletOf('n2').address)).toBeUndefined()
  expect(await attest(second, 'n1')).toBeUndefined()
  await shared.clock.jump(48 * hour * 1_000)
  expect(await attest(second, 'n2')).toBeUndefined()
  expect(await attest(first, 'n1')).toBe('session-key-taken')
})

it('a shorter session does not let go of a key that a longer one still grants', async () => {
  expect(await attest(first, 'n1', 40)).toBeUndefined()
  expect(await attest(first, 'n1', 1)).toBeUndefined()
  await shared.clock.jump(2 * hour * 1_000)
  expect(await attest(second, 'n2')).toBe('session-key-taken')
})

it('of two wallets that attest with one session key at once, one does', async () => {
  for (let round = 0; round < 8; round++) {
    const names = [`one ${round}`, `other ${round}`] as const
    const codes = await Promise.all([attest(first, names[0]), attest(second, names[1])])
    expect(codes.toSorted()).toEqual(['session-key-taken', undefined])
    await shared.clock.jump(48 * hour * 1_000)
  }
})
