import { PermitUtils } from '@cofhe/sdk/permits'
import { type Hex, hexToBytes, numberToBytes } from 'viem'
import type { ChainWriter } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import { concatBytes } from '../digest.ts'
import type { Fetch } from '../outgoing.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import { SvcError } from '../svc-error.ts'
import { isLimited, refusedProof, verifierRefusal } from './cofhe-errors.ts'
import { type Connection, halvesOf } from './connection.ts'
import { createKeySource, type KeySource, type NetworkKeys } from './network-keys.ts'
import type { Prover } from './prover.ts'
import { sealOutput, verifyProof } from './services.ts'

/** The options of real encryption. */
export type ProductionOptions = {
  readonly chainId: number
  readonly urls: CoprocessorUrls
  readonly prover: Prover
  readonly fetch: Fetch
  readonly clock: Clock
}

const securityZone = 0

/** Binds a proof to an account and a chain. */
const metadataOf = (account: Hex, chainId: number): Uint8Array =>
  concatBytes(
    Uint8Array.of(securityZone),
    hexToBytes(account),
    numberToBytes(chainId, { size: 32 }),
  )

/** Connects with real ciphertexts, proofs by `prover`, and the coprocessor's three services. */
export function connectProduction(options: ProductionOptions, chain: ChainWriter): Connection {
  const { chainId, urls, prover, fetch, clock } = options
  const keys = createKeySource(urls.cofhe_url, fetch, clock)
  const account = chain.walletClient.account.address
  const metadata = metadataOf(account, chainId)
  return {
    fetchKeys: async (signal) => {
      await keys.current(signal)
    },
    encrypt: async ({ high, low }, steps, signal) => {
      steps.begin('fetchKeys')
      const held = await keys.current(signal)
      try {
        steps.begin('prove')
        const proof = await prover.prove({ ...held, values: [high, low], metadata }, signal)
        steps.proofMade(proof.length)
        steps.begin('verify')
        const call = { url: urls.verifier_url, fetch, clock, signal }
        return halvesOf(await verifyProof(call, { proof, account, chainId }))
      } catch (error) {
        signal.throwIfAborted()
        throw await classified(error, keys, held, signal)
      }
    },
    decrypt: async (handle, permit, signal) => {
      const call = { url: urls.threshold_network_url, fetch, clock, signal }
      const permission = PermitUtils.getPermission(permit, true)
      const sealed = await sealOutput(call, { handle, chainId, permit: permission })
      return PermitUtils.unseal(permit, sealed)
    },
  }
}

/** Makes a refusal final when the proof was made with the network's present keys. */
async function classified(
  error: unknown,
  keys: KeySource,
  held: NetworkKeys,
  signal: AbortSignal,
): Promise<unknown> {
  const refusal = verifierRefusal(error)
  if (refusal === undefined) {
    // Wrong keys may be why a proof failed.
    if (error instanceof SvcError) keys.drop()
    return error
  }
  // Do not fetch megabytes from a network that wants fewer requests.
  if (isLimited(error)) return error
  const changed = await keys.haveChanged(held, signal).catch(() => true)
  return !changed && refusal.isFinal ? refusedProof(error, refusal.words) : error
}
