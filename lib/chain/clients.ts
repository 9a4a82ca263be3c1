import {
  type Chain,
  type Client,
  createClient,
  defineChain,
  HttpRequestError,
  type HttpTransport,
  http,
  type LocalAccount,
  type PublicRpcSchema,
  type WalletRpcSchema,
} from 'viem'
import { withDeadline } from '../deadline.ts'
import { localFheChainId } from '../known-networks.ts'
import { AnswerRefused, ask, type Fetch } from '../outgoing.ts'
import { systemClock } from '../system.ts'
import { systemFetch } from '../system-fetch.ts'
import { abortable } from './abortable.ts'
import { batching } from './batching.ts'
import { type ReadActions, readActions, type SignActions, signActions } from './client-actions.ts'
import { inTurn, rpcListOf, rpcUrlsOf } from './rpc-list.ts'

// These chains make a block for each transaction at once, and polling them costs nothing.
const devChainIds: readonly number[] = [31_337, localFheChainId]

/** The default polling interval of a chain, in milliseconds. */
export const usualPollingMs = (chainId: number): number =>
  devChainIds.includes(chainId) ? 50 : 1_000

/** A chain's RPC. `timeoutMs` is for one request, which is tried up to 4 times with growing delays. */
export type ChainEndpoint = {
  /** One address, or several with commas, of which the next is used when one fails. */
  readonly rpcUrl: string
  readonly chainId: number
  readonly timeoutMs?: number
  /** Milliseconds between two polls for a receipt. */
  readonly pollingIntervalMs?: number
  /** How to reach the RPC; the runtime's own by default. */
  readonly rpcFetch?: Fetch | undefined
  /** Whether calls that are made at once travel as one JSON-RPC batch; not by default. */
  readonly batches?: boolean
  /** Hears why another RPC of several is used. */
  readonly onRpcMoved?: (news: string) => void
}

/** A client of viem that reads a chain. */
export type ReadClient = Client<HttpTransport, Chain, undefined, PublicRpcSchema, ReadActions>

/** Reads a chain. */
export type ChainReader = { readonly publicClient: ReadClient }

/** Reads a chain and sends transactions from one account. */
export type ChainWriter = ChainReader & {
  readonly walletClient: Client<HttpTransport, Chain, LocalAccount, WalletRpcSchema, SignActions>
  readonly nonces: Nonces
}

/** The nonces that this process takes of one account. */
type Nonces = {
  /** Returns the next one. `counted`: how many the chain knows of. */
  readonly take: (counted: number) => number
  /** Forgets those that were taken: one may be unused. */
  readonly reset: () => void
}

function createNonces(): Nonces {
  let next = 0
  return {
    take: (counted) => {
      const nonce = Math.max(counted, next)
      next = nonce + 1
      return nonce
    },
    reset: () => {
      next = 0
    },
  }
}

const maxAnswerBytes = 10_485_760

/** A fetch that gives whole answers: viem's time limit ends with the headers of an answer, and a body may have no end. */
const wholeAnswers =
  (rpcFetch: Fetch, timeoutMs: number) =>
  async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input)
    const signal = init.signal ?? AbortSignal.timeout(timeoutMs)
    try {
      // Node 20 may collect the request, and with it the link from its signal to the call and its body.
      const { status, headers, bytes } = await abortable(
        ask(rpcFetch, url, { ...init, signal, maxBytes: maxAnswerBytes }),
        signal,
      )
      return new Response(bytes.length > 0 ? bytes : null, { status, headers })
    } catch (error) {
      if (!(error instanceof AnswerRefused)) throw error
      const refused = new HttpRequestError({ url, cause: error })
      // viem does not ask again when an error has a number.
      throw Object.assign(refused, { code: 0 })
    }
  }

/** How viem reaches an RPC. */
export function rpcTransport({
  rpcUrl,
  chainId,
  timeoutMs = 10_000,
  rpcFetch = systemFetch,
  batches = false,
  onRpcMoved,
}: Omit<ChainEndpoint, 'pollingIntervalMs'>): HttpTransport {
  const list = rpcListOf({ rpcUrl, chainId })
  const ask = wholeAnswers(rpcFetch, timeoutMs)
  // Node 20 may collect a timeout signal, and with it the limit.
  const askInTime = (url: string, init: RequestInit) =>
    withDeadline(systemClock, timeoutMs / 2, init.signal ?? undefined, tookTooLong, (signal) =>
      ask(url, { ...init, signal }),
    )
  const send = list.urls.length > 1 ? inTurn(list, chainId, askInTime, onRpcMoved) : ask
  return http(list.urls[0], {
    timeout: timeoutMs * list.urls.length,
    retryCount: 3,
    retryDelay: 200,
    fetchFn: batches ? batching(send) : send,
  })
}

const tookTooLong = () => new Error('the RPC took too long')

const clientOptions = (endpoint: ChainEndpoint) => ({
  chain: defineChain({
    id: endpoint.chainId,
    name: `chain ${endpoint.chainId}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: rpcUrlsOf(endpoint.rpcUrl) } },
  }),
  transport: rpcTransport(endpoint),
  pollingInterval: endpoint.pollingIntervalMs ?? usualPollingMs(endpoint.chainId),
  cacheTime: 0,
})

/** Makes a client that reads the chain. */
export const createChainReader = (endpoint: ChainEndpoint): ChainReader => ({
  publicClient: createClient(clientOptions(endpoint)).extend(readActions),
})

/** Makes clients that send from `account` in parallel. Use one per account and process, because it counts the nonces. */
export const createChainWriter = (
  endpoint: ChainEndpoint & { readonly account: LocalAccount },
): ChainWriter => {
  const options = clientOptions(endpoint)
  const { account } = endpoint
  return {
    publicClient: createClient(options).extend(readActions),
    walletClient: createClient({ ...options, account }).extend(signActions),
    nonces: createNonces(),
  }
}
