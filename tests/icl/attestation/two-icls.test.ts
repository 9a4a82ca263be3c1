import { decodeJwt } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requestKeyOf } from '../../../icl/records/icl-keys.ts'
import { createApi } from '../../../lib/api.ts'
import type { RequestSigner } from '../../../lib/request-signature.ts'
import { systemRandom } from '../../../lib/system.ts'
import { codeOf } from '../../code-of.ts'
import { createReplica, createShared, sessionKeyOf, type TestIcl, walletOf } from '../test-icl.ts'
import { createSoftwareTpm } from './software-tpm.ts'
import { type TpmNode, tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

/** An ICL with the node's conversation with it. */
type Place = { readonly icl: TestIcl; readonly origin: string; readonly node: TpmNode }

const [hereOrigin, thereOrigin] = ['https://icl.test', 'https://other.test']
let here: Place
let there: Place

/** Calls one ICL with signatures that are for the ICL at `origin`. */
const apiAt = (icl: TestIcl, origin: string, signer?: RequestSigner) =>
  createApi({
    baseUrl: origin,
    fetch: icl.fetch,
    clock: icl.clock,
    random: systemRandom,
    ...(signer && { signer }),
  })

const { clock } = createShared()
const vendor = await createVendor(clock.now())
const tpm = await createSoftwareTpm(vendor, clock.now())
beforeEach(async () => {
  // The same secret, chain and store: only the origin tells the two apart.
  const shared = createShared()
  const open = async (origin: string): Promise<Place> => {
    const plain = await createReplica(shared, { tpm: trustIn(vendor), replicaId: origin })
    const network = { ...plain.deps.network, public_url: origin }
    await plain.stop()
    const changes = { tpm: trustIn(vendor), replicaId: origin, network }
    const icl = await createReplica(shared, changes)
    const api = (signer?: RequestSigner) => apiAt(icl, origin, signer)
    return { icl, origin, node: tpmNode({ ...icl, api }, 'n1', tpm) }
  }
  here = await open(hereOrigin)
  there = await open(thereOrigin)
  await here.node.join()
})
afterEach(async () => {
  await here.icl.stop()
  await there.icl.stop()
})

const both = (): readonly (readonly [Place, Place])[] => [
  [here, there],
  [there, here],
]

describe('what was made for one ICL is refused by the other', () => {
  it('evidence', async () => {
    for (const [own, other] of both()) {
      const { nonce } = await own.node.challenge()
      const body = await other.node.request(nonce)
      const call = own.node.api.verifyAttestation({ body })
      expect(await codeOf(call)).toBe('quote-binding-wrong')
    }
  })

  it('the wallet’s word for a session key', async () => {
    for (const [own, other] of both()) {
      const { nonce } = await own.node.challenge()
      const { session } = await other.node.request(nonce)
      const body = { ...(await own.node.request(nonce)), session }
      expect(await codeOf(own.node.api.verifyAttestation({ body }))).toBe(
        'session-signature-invalid',
      )
    }
  })

  it('requests, of wallets and of nodes', async () => {
    const { address } = here.node
    for (const [own, other] of both()) {
      const key = await sessionKeyOf('n1')
      const requestKey = await requestKeyOf(own.icl.deps.keys, address, key.thumbprint)
      for (const given of [undefined, requestKey]) {
        const asNode: RequestSigner = { kind: 'node', address, key, requestKey: given }
        const poll = (origin: string) => {
          const asked = { params: { address }, query: { wait: 0 } }
          return codeOf(apiAt(own.icl, origin, asNode).getAssignments(asked))
        }
        expect(await poll(other.origin)).toBe('signature-invalid')
        expect(await poll(own.origin)).toBeUndefined()
      }
      const release = { body: { operator_address: address } }
      const relayed = apiAt(own.icl, other.origin, walletOf('n1').signer)
      expect(await codeOf(relayed.releaseTpm(release))).toBe('signature-invalid')
    }
  })

  it('certificates: each names the ICL that it counts for, and what it was for', async () => {
    for (const [own] of both()) {
      const { certificate } = await own.node.renew()
      expect(decodeJwt(certificate)).toMatchObject({ iss: own.origin, sub: own.node.address })
    }
  })

  it('while each accepts its own', async () => {
    for (const [own] of both()) await own.node.renew()
  })
})
