import type { LocalAccount } from 'viem'
import { createApi, type Fetch } from '../api.ts'
import { createGatewayBlobs } from '../blobs/gateways.ts'
import type { Clock } from '../clock.ts'
import { Address } from '../codecs.ts'
import type { Coprocessor } from '../coprocessor/coprocessor.ts'
import { fetchNetwork } from '../fetch-network.ts'
import type { Random } from '../random.ts'
import type { WalletSigner } from '../request-signature.ts'
import type { Network } from '../schemas/network.ts'
import { SvcError } from '../svc-error.ts'
import { systemClock, systemRandom } from '../system.ts'
import { createClientChain } from './client-chain.ts'
import { type InferOptions, infer } from './infer.ts'
import type { Inference } from './inference.ts'

/** What a client is made of. */
export type ClientOptions = {
  /** The ICL's public address. */
  readonly icl: string
  readonly rpcUrl: string
  /** Owns the prompt keys and pays for storing them. */
  readonly account: LocalAccount
  /** Encrypts and decrypts key halves for that account. */
  readonly coprocessor: Coprocessor
  /**
   * The contracts that this client trusts. Left out, it takes the ICL's word for them, and an ICL that names contracts of
   * its own could read the keys that are stored there.
   */
  readonly contracts?: Network['contracts']
  /** IPFS gateways to download outputs from when the ICL does not have them. */
  readonly gateways?: readonly string[]
  readonly fetch?: Fetch
  readonly clock?: Clock
  readonly random?: Random
  readonly signal?: AbortSignal
}

/** A client of one ICL. */
export type Client = {
  readonly network: Network
  readonly infer: (prompt: string, options: InferOptions) => Promise<Inference>
}

/** Connects to an ICL: learns its contracts and limits, and checks that the RPC endpoint serves the same chain. */
export async function createClient(options: ClientOptions): Promise<Client> {
  const { icl, rpcUrl, account, coprocessor, gateways = [], signal } = options
  const { fetch = globalFetch, clock = systemClock, random = systemRandom } = options
  const open = { baseUrl: icl, fetch, clock, random }
  const network = await fetchNetwork(createApi(open), icl, signal)
  checkContracts(network, options.contracts)
  const address = Address.parse(account.address)
  const signer: WalletSigner = {
    kind: 'wallet',
    address,
    chainId: network.chain_id,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
  const api = createApi({ ...open, signer })
  const chain = createClientChain({ rpcUrl, network, account })
  const chainId = await chain.chainId(signal)
  if (chainId !== network.chain_id) {
    throw new SvcError(
      'chain-wrong',
      `The RPC endpoint serves chain ${chainId}, and the ICL uses chain ${network.chain_id}`,
      { hint: "Use an RPC endpoint of the ICL's chain." },
    )
  }
  const blobs = createGatewayBlobs({ gateways: [icl, ...gateways], fetch, clock })
  const context = { api, network, address, chain, coprocessor, blobs, clock, random }
  return { network, infer: (prompt, inferOptions) => infer(context, prompt, inferOptions) }
}

function checkContracts(network: Network, trusted: Network['contracts'] | undefined): void {
  for (const [name, address] of Object.entries(trusted ?? {})) {
    const named = network.contracts[name as keyof Network['contracts']]
    if (named === Address.parse(address)) continue
    throw new SvcError('contracts-wrong', `The ICL names ${named} as ${name}, and not ${address}`, {
      hint: 'Do not use this ICL, unless its operator has announced new contracts that you trust.',
    })
  }
}

const globalFetch: Fetch = (request) => fetch(request)
