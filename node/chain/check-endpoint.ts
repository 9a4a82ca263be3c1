import { createChainReader } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { rpcUrlsOf } from '../../lib/chain/rpc-list.ts'
import { isLoopback } from '../../lib/ip-address.ts'
import { SvcError } from '../../lib/svc-error.ts'

const localChainId = 31_337

type Endpoint = { readonly rpcUrl: string; readonly chainId: number }

/**
 * Checks that an RPC responds, that all that respond are for the network's chain, and that all are local if keys travel over them in plain
 * text. Throws SvcErrors and chain errors.
 */
export async function checkEndpoint(
  { rpcUrl, chainId }: Endpoint,
  signal?: AbortSignal,
): Promise<true> {
  const urls = rpcUrlsOf(rpcUrl)
  const checked = await Promise.allSettled(
    urls.map((url) => checkOne({ rpcUrl: url, chainId }, signal)),
  )
  const failures = checked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  const wrong = failures.find((error) => !(error instanceof SvcError && error.retryable))
  if (wrong !== undefined || failures.length === urls.length) throw wrong ?? failures[0]
  return true
}

async function checkOne({ rpcUrl, chainId }: Endpoint, signal?: AbortSignal): Promise<true> {
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
