import { type Api, createApi } from '../../lib/api.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { retrying } from '../../lib/retry.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import {
  attestationOf,
  heartbeatOf,
  openedKey,
  origin,
  sessionKeyOf,
  walletOf,
} from '../icl/test-icl.ts'

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

const patience = { attempts: 20, firstDelayMs: 200, maxDelayMs: 2_000 }
const isOutOfReach = (error: unknown) =>
  error instanceof SvcError && error.code === 'icl-unreachable'

/** Does something again that an ICL or its database did not do: a busy process answers too late. */
export const retryBusy = <T>(work: () => Promise<T>): Promise<T> =>
  retrying(
    systemClock,
    patience,
    undefined,
    (error) => (error instanceof ProblemError || isOutOfReach(error) ? 0 : undefined),
    work,
  )

/** Attests a node, with more free places than there is work. */
export async function joinContender(fetch: Fetch, name: string): Promise<Contender> {
  const { address, signer } = walletOf(name)
  const key = await sessionKeyOf(name)
  const wallet = apiOf(fetch, signer)
  const node: NodeSigner = { kind: 'node', address, key }
  await retryBusy(async () => {
    const { nonce } = await wallet.getChallenge({ params: { address } })
    const notAfter = unixSeconds(systemClock) + 86_400
    const body = await attestationOf(name, nonce, key, notAfter)
    const { request_key: sealed } = await wallet.verifyAttestation({ body })
    node.requestKey = await openedKey(name, sealed, node)
  })
  const api = apiOf(fetch, node)
  const beat = async () => {
    await api.postHeartbeat({ body: heartbeatOf(address, systemClock, 64) })
  }
  await retryBusy(beat)
  await retryBusy(() => api.getAssignments({ params: { address }, query: { wait: 0 } }))
  return { address, api, beat }
}
