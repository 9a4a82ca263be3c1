import type { ChainWriter } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import type { Fetch } from '../outgoing.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import { SvcError } from '../svc-error.ts'
import { isLimited, refusedProof, verifierRefusal } from './cofhe-errors.ts'
import type { StepTeller } from './connection.ts'
import { type Connection, connectLazily, decryptWith, encryptWith } from './connection.ts'
import { createKeySource, type KeySource, type NetworkKeys } from './network-keys.ts'
import type { Prover } from './prover.ts'
import { createSdkClient, type SdkProve } from './sdk-client.ts'

/** The options of real encryption. */
export type ProductionOptions = {
  readonly chainId: number
  readonly urls: CoprocessorUrls
  readonly prover: Prover
  readonly fetch: Fetch
  readonly clock: Clock
}

const supportedChain = ({ chainId, urls }: ProductionOptions) => ({
  id: chainId,
  name: `chain ${chainId}`,
  network: `chain-${chainId}`,
  coFheUrl: urls.cofhe_url,
  verifierUrl: urls.verifier_url,
  thresholdNetworkUrl: urls.threshold_network_url,
  environment: 'TESTNET' as const,
})

/**
 * Keeps the SDK from fetching keys, since its requests have no limits of time or size. The SDK only passes keys on to the prover, which
 * gets them from here. So their names are enough for it, and megabytes would block the event loop.
 */
const keyStorageOf = (chainId: number) => ({
  getItem: async () =>
    JSON.stringify({
      state: { fhe: { [chainId]: { 0: 'public key' } }, crs: { [chainId]: 'CRS' } },
      version: 0,
    }),
  setItem: async () => {},
  removeItem: async () => {},
})

/** Wraps the prover for the SDK, with a promise that rejects when a proof fails. */
function proofOf(prover: Prover, keys: NetworkKeys, steps: StepTeller, signal: AbortSignal) {
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  const prove: SdkProve = async (_publicKey, _crs, items, metadata) => {
    try {
      const values = items.map(({ data }) => BigInt(data))
      const proof = await prover.prove({ ...keys, values, metadata }, signal)
      steps.proofMade(proof.length)
      return proof
    } catch (error) {
      fail(error)
      // This never settles. On an error the SDK would go on with an invalid proof of its own.
      return new Promise<never>(() => {})
    }
  }
  return { prove, failed }
}

/** Connects by the SDK's production path: real ciphertexts, proofs by `prover`, and the coprocessor's three services. */
export function connectProduction(options: ProductionOptions, chain: ChainWriter): Connection {
  const { chainId, urls, prover, fetch, clock } = options
  const supportedChains = [supportedChain(options)]
  const keys = createKeySource(urls.cofhe_url, fetch, clock)
  const decrypter = connectLazily(() =>
    createSdkClient(chain, { supportedChains, fheKeyStorage: null, useWorkers: false }),
  )
  return {
    fetchKeys: async (signal) => {
      await keys.current(signal)
    },
    encrypt: async (halves, steps, signal) => {
      steps.begin('fetchKeys')
      const held = await keys.current(signal)
      const { prove, failed } = proofOf(prover, held, steps, signal)
      const fheKeyStorage = keyStorageOf(chainId)
      const config = { supportedChains, fheKeyStorage, useWorkers: true }
      const client = await createSdkClient(chain, config, prove)
      try {
        return await Promise.race([encryptWith(client, halves, steps), failed])
      } catch (error) {
        signal.throwIfAborted()
        throw await classified(error, keys, held, signal)
      }
    },
    decrypt: async (handle, permit) => decryptWith(await decrypter(), handle, permit),
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
