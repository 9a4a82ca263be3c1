import { rpcHostsOf, rpcUrlsOf } from '../chain/rpc-list.ts'
import { isLoopback } from '../ip-address.ts'
import { knownNetworks } from '../known-networks.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import { SvcError } from '../svc-error.ts'

const isPlain = (url: string): boolean => new URL(url).protocol !== 'https:' && !isLoopback(url)

/**
 * Returns the coprocessor's URLs of a chain: the configured ones, else the known ones. Never those of an ICL, which could name its own
 * coprocessor and read every key encrypted for it. Throws SvcError `coprocessor-urls-unknown`, or `coprocessor-not-https` for plain http to
 * another machine.
 */
export function coprocessorUrlsOf(
  chainId: number,
  configured: CoprocessorUrls | undefined,
): CoprocessorUrls {
  const known = knownNetworks.find((network) => network.chainId === chainId)?.coprocessor
  const urls = configured ?? known
  if (urls === undefined) {
    throw new SvcError(
      'coprocessor-urls-unknown',
      `it is not known where the coprocessor of chain ${chainId} is`,
      { hint: 'Set cofhe_urls (SVC_COFHE_URLS) to its addresses, from a source that you trust.' },
    )
  }
  const plain = Object.values(urls).find(isPlain)
  if (plain === undefined) return urls
  const { host } = new URL(plain)
  throw new SvcError('coprocessor-not-https', `the coprocessor's address at ${host} is not https`, {
    hint: 'Use https in cofhe_urls (SVC_COFHE_URLS): over http anyone on the network path could replace the key.',
  })
}

/** The chain id for which the coprocessor's SDK switches to mock mode. */
export const mockChainId = 31_337

/** Throws SvcError `chain-not-local` for an RPC on another machine, because the mock coprocessor takes keys in plain text. */
export function checkMockChain(rpcUrl: string): void {
  if (rpcUrlsOf(rpcUrl).every(isLoopback)) return
  // The address may hold an access key.
  throw new SvcError(
    'chain-not-local',
    `the chain RPC at ${rpcHostsOf(rpcUrl)} is not on this machine, and the coprocessor of chain ${mockChainId} takes keys in plain text`,
    { hint: 'Use an RPC on this machine (127.0.0.1), or another chain.' },
  )
}
