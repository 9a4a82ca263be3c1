import { hexToBytes, keccak256, stringToHex } from 'viem'
import { type Api, createApi, type Fetch } from '../../lib/api.ts'
import type { Address } from '../../lib/codecs.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { attestationOf, modelId, origin, walletOf } from '../icl/test-icl.ts'

/** A node that speaks for itself, to any of the replicas. */
export type Contender = {
  readonly address: Address
  readonly api: Api
  readonly beat: () => Promise<void>
}

export const apiOf = (fetch: Fetch, signer?: Parameters<typeof createApi>[0]['signer']): Api =>
  createApi({
    baseUrl: origin,
    fetch,
    clock: systemClock,
    random: systemRandom,
    ...(signer && { signer }),
  })

/** Attests a node, with more free places than there is work. */
export async function joinContender(fetch: Fetch, name: string): Promise<Contender> {
  const { address, signer } = walletOf(name)
  const key = await signingKeyFromSeed(hexToBytes(keccak256(stringToHex(`session ${name}`))))
  const wallet = apiOf(fetch, signer)
  const { nonce } = await wallet.getChallenge({ params: { address } })
  const notAfter = Math.floor(systemClock.now() / 1000) + 86_400
  await wallet.verifyAttestation({ body: await attestationOf(name, nonce, key, notAfter) })
  const api = apiOf(fetch, { kind: 'node', address, key })
  const beat = async () => {
    await api.postHeartbeat({
      body: {
        operator_address: address,
        timestamp: Math.floor(systemClock.now() / 1000),
        version: '0.0.0',
        free_slots: 64,
        supported_model_ids: [modelId],
      },
    })
  }
  await beat()
  await api.getAssignments({ params: { address }, query: { wait: 0 } })
  return { address, api, beat }
}
