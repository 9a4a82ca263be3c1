import { createChainReader } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { isLoopback } from '../../lib/ip-address.ts'
import { SvcError } from '../../lib/svc-error.ts'

const localChainId = 31_337

/** Checks that the RPC is for the network's chain, and local if keys travel over it in plain text. Throws SvcErrors and chain errors. */
export async function checkEndpoint(
  { rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number },
  signal?: AbortSignal,
): Promise<true> {
  // The path may hold an access key.
  const { host } = new URL(rpcUrl)
  if (chainId === localChainId && !isLoopback(rpcUrl)) throw notLocal(host)
  const { publicClient } = createChainReader({ rpcUrl, chainId })
  const actual = await reading('reading the chain id', publicClient.getChainId(), signal)
  if (actual === chainId) return true
  throw new SvcError(
    'chain-id-differs',
    `the chain RPC at ${host} is for chain ${actual}, but the ICL works on chain ${chainId}`,
    {
      hint: 'Correct cofhe_endpoint (SVC_COFHE_ENDPOINT), or check that the ICL is the one you mean.',
    },
  )
}

const notLocal = (host: string): SvcError =>
  new SvcError(
    'chain-not-local',
    `the ICL works on the local chain ${localChainId}, but the chain RPC is at ${host}`,
    {
      hint: 'The coprocessor of that chain takes keys in plain text: use an RPC on this machine (127.0.0.1), or another ICL.',
    },
  )
