import { createChainReader } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { leaveRpc, rpcUrlsOf } from '../../lib/chain/rpc-list.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { isLoopback } from '../../lib/ip-address.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'

const localChainId = 31_337

type Endpoint = { readonly rpcUrl: string; readonly chainId: number }

/**
 * Checks that an RPC responds, that all that respond are for the network's chain, and that all are local if keys travel over them in plain
 * text. Each of several has 3 s; `warn` hears of those that fail, and they are not in use first. Throws SvcErrors and chain errors.
 */
export async function checkEndpoint(
  { rpcUrl, chainId }: Endpoint,
  signal?: AbortSignal,
  warn: (text: string) => void = () => {},
): Promise<true> {
  const urls = rpcUrlsOf(rpcUrl)
  if (urls.length === 1) return await checkOne({ rpcUrl, chainId }, signal)
  const checked = await Promise.allSettled(
    urls.map((url) => checkSoon({ rpcUrl: url, chainId }, signal)),
  )
  const failures = checked.map((one) => (one.status === 'rejected' ? one.reason : undefined))
  const found = failures.filter((error) => error !== undefined)
  const wrong = found.find((error) => !(error instanceof SvcError && error.retryable))
  if (wrong !== undefined || found.length === urls.length) throw wrong ?? found[0]
  for (const [index, url] of urls.entries()) {
    if (failures[index] === undefined) continue
    const { host } = new URL(url)
    warn(`the chain RPC at ${host} does not work; another of the list is used`)
    leaveRpc({ rpcUrl, chainId }, host, 'does not work')
  }
  return true
}

const patienceMs = 3_000

function checkSoon(endpoint: Endpoint, signal: AbortSignal | undefined): Promise<true> {
  const { host } = new URL(endpoint.rpcUrl)
  const late = () =>
    new SvcError('chain-unavailable', `the chain RPC at ${host} does not respond`, {
      hint: 'Check the chain RPC, its address and its network.',
      retryable: true,
    })
  return withDeadline(systemClock, patienceMs, signal, late, (ended) => checkOne(endpoint, ended))
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
