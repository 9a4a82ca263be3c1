import { decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { activationMs, createKeyring, rotateKeys } from '../../../icl/records/keyring.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { codeOf } from '../../code-of.ts'
import { createTestIcl } from '../test-icl.ts'
import { createSoftwareTpm } from './software-tpm.ts'
import { tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

it('certificates from before a rotation of the signing keys stay valid', async () => {
  const store = createMemoryStore()
  const clock = { now: () => icl.clock.now() } as never
  const keys = await createKeyring({ store, clock }, new Uint8Array(32).fill(1))
  const icl = await createTestIcl({ store, keys })
  await icl.stop()
  const vendor = await createVendor(icl.clock.now())
  const tpm = await createSoftwareTpm(vendor, icl.clock.now())
  const trusting = await createTestIcl({
    store,
    keys,
    clock: icl.clock,
    tpm: trustIn(vendor),
  })
  const node = tpmNode({ ...trusting, clock: icl.clock }, 'n1', tpm)
  const before = (await node.join()).certificate
  await rotateKeys(store, icl.clock)
  await icl.clock.advance(activationMs)
  await keys.refresh()
  const sessionApi = await node.sessionApi()
  const call = sessionApi.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
  expect(await codeOf(call)).toBe(undefined)
  const after = (await node.renew()).certificate
  const published = (await trusting.api().getJwks()).keys
  const kids = [before, after].map((jws) => decodeProtectedHeader(jws).kid)
  expect(kids[0]).not.toBe(kids[1])
  for (const [index, jws] of [before, after].entries()) {
    const jwk = published.find(({ kid }) => kid === kids[index]) as JWK
    const currentDate = new Date(icl.clock.now())
    const { payload } = await jwtVerify(jws, await importJWK(jwk, 'ES256'), { currentDate })
    expect(payload).toMatchObject({ sub: node.address, att: { backend: 'tpm' } })
  }
})
