/*
 * Problem: an RPC fails, limits requests or goes away, and a program that has only one stops working.
 *
 * Idea: the setting may hold several addresses, with commas. Requests go to the one in use. When that fails, the next one is in use for
 * all clients of the process, until it fails itself.
 *
 * Invariants: an RPC is in use only once it has said that it is for the right chain, and is at most 20 blocks behind the others. A request
 * fails only when each RPC has failed in its turn. The same bytes may reach several RPCs: signed transactions are safe to repeat. Messages
 * name hosts, since the rest of an address may be a key. Each RPC gets its own credentials only.
 */
import { HttpRequestError, toHex } from 'viem'
import { z } from 'zod'
import { AnswerRefused } from '../outgoing.ts'
import { parseJson } from '../parse-json.ts'
import { ProxyFailed } from '../proxy.ts'

/** The addresses that a setting names, with commas between them. */
export const rpcUrlsOf = (rpcUrl: string): readonly string[] => rpcUrl.split(',')

const hostOf = (url: string): string => new URL(url).host

/** The hosts of these addresses, for messages. */
export const rpcHostsOf = (rpcUrl: string): string => rpcUrlsOf(rpcUrl).map(hostOf).join(', ')

/** Each of several RPCs has failed. The message names the hosts, and why. */
export class AllRpcsFailed extends Error {}

const tooManyRequests = 429
const limitExceeded = -32_005
const maxErrorCharacters = 10_000
const maxBlocksBehind = 20n

/** Whether this HTTP status is about the RPC or its access key, not about the request. */
const isOfRpc = (status: number): boolean =>
  [401, 402, 403, 404, tooManyRequests].includes(status) || status >= 500

/** The parts of an answer that are read here; viem checks the whole. */
const AnyAnswer = z
  .object({
    id: z.unknown().optional(),
    result: z.unknown().optional(),
    error: z.object({ code: z.number(), message: z.string() }).optional().catch(undefined),
  })
  .catch({ result: undefined })

const Calls = z.array(z.object({ id: z.unknown(), method: z.string() }))

/** Sends one request to one RPC, and gives the whole answer. */
type Send = (url: string, init: RequestInit) => Promise<Response>

/** An answer of one RPC because of which the next one is asked. */
class NotThisOne extends Error {
  readonly response: Pick<Response, 'status' | 'headers'>

  constructor(why: string, response: Pick<Response, 'status' | 'headers'>) {
    super(why)
    this.response = response
  }
}

/** A sound RPC that lacks blocks which another one of the list has shown. */
class Behind extends NotThisOne {
  readonly newest: bigint

  constructor(newest: bigint, highest: bigint, response: NotThisOne['response']) {
    super(`is ${highest - newest} blocks behind`, response)
    this.newest = newest
  }
}

/** The RPCs of one setting, as all clients of the process share them. */
type RpcList = {
  readonly urls: readonly string[]
  inUse: number
  /** Whether the one in use has said that it is for the right chain. */
  isProven: boolean
  /** The one in use as far as `onMoved` has heard. */
  told: number
  /** Why others were left since then. */
  failures: readonly string[]
  /** The newest block that any of them has shown. */
  highest: bigint
}

const lists = new Map<string, RpcList>()

type Setting = { readonly rpcUrl: string; readonly chainId: number }

/** The RPCs of a setting. */
export function rpcListOf({ rpcUrl, chainId }: Setting): RpcList {
  const key = `${chainId} ${rpcUrl}`
  const known = lists.get(key)
  if (known) return known
  const fresh = { inUse: 0, isProven: false, told: 0, failures: [], highest: 0n }
  const list: RpcList = { ...fresh, urls: rpcUrlsOf(rpcUrl) }
  lists.set(key, list)
  return list
}

const urlInUse = ({ urls, inUse }: RpcList): string => urls[inUse] ?? ''

/** The host of the RPC in use. */
export const rpcHostInUse = (setting: Setting): string => hostOf(urlInUse(rpcListOf(setting)))

/** Moves on from the RPC at this host if it is in use. `why` follows its name, as `is behind` does. */
export function leaveRpc(setting: Setting, host: string, why: string): void {
  const list = rpcListOf(setting)
  if (hostOf(urlInUse(list)) === host) moveOn(list, list.inUse, `the chain RPC at ${host} ${why}`)
}

/** Moves on from the RPC at `at`, unless another request has. */
function moveOn(list: RpcList, at: number, failure: string): void {
  if (list.inUse !== at) return
  list.inUse = (at + 1) % list.urls.length
  list.isProven = false
  list.failures = [...list.failures, failure].slice(-list.urls.length)
}

/** Sends requests to the RPC in use. `onMoved` hears once why another one is in use. */
export function inTurn(
  list: RpcList,
  chainId: number,
  send: Send,
  onMoved?: (news: string) => void,
): (input: unknown, init?: RequestInit) => Promise<Response> {
  const attempt = async (at: number, url: string, init: RequestInit): Promise<Response> => {
    if (list.inUse !== at || !list.isProven) await prove(list, url, chainId, send, init)
    if (list.inUse === at) list.isProven = true
    const response = await answerOf(url, send, init)
    const body = String(init.body)
    if (body.includes('"eth_blockNumber"'))
      for (const newest of await blocksIn(body, response.clone())) notice(list, newest)
    return response
  }
  const tell = (at: number, url: string) => {
    if (!onMoved || list.inUse !== at) return
    if (list.told !== at) onMoved(`${list.failures.join('; ')}: using the one at ${hostOf(url)}`)
    list.told = at
    list.failures = []
  }
  return async (_, init = {}) => {
    const failures: string[] = []
    let last: NotThisOne['response'] | undefined
    let behind: readonly bigint[] = []
    for (let left = list.urls.length; left > 0; left--) {
      const at = list.inUse
      const url = urlInUse(list)
      try {
        const response = await attempt(at, url, init)
        tell(at, url)
        return response
      } catch (error) {
        const failure = `the chain RPC at ${hostOf(url)} ${whyOf(error)}`
        moveOn(list, at, failure)
        if (init.signal?.aborted) throw error
        if (error instanceof NotThisOne) last = error.response
        if (error instanceof Behind) behind = [...behind, error.newest]
        failures.push(failure)
        // Another chain may have begun, or one of them was wrong.
        if (behind.length === list.urls.length) {
          list.highest = behind.reduce(max)
          left += list.urls.length
        }
      }
    }
    throw new HttpRequestError({
      ...(last && last.status !== 200 && { status: last.status, headers: last.headers }),
      ...{ url: '', cause: new AllRpcsFailed(failures.join('; ')) },
    })
  }
}

/** The same request for this RPC: viem gives each the credentials of the first, and fetch takes no address with credentials. */
function requestTo(url: string, init: RequestInit): [string, RequestInit] {
  const to = new URL(url)
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const credentials = `${decodeURIComponent(to.username)}:${decodeURIComponent(to.password)}`
  if (credentials !== ':') headers.set('authorization', `Basic ${btoa(credentials)}`)
  to.username = ''
  to.password = ''
  return [to.href, { ...init, headers }]
}

async function answerOf(url: string, send: Send, init: RequestInit): Promise<Response> {
  const response = await send(...requestTo(url, init))
  const { ok, status, headers } = response
  const why = `responds with HTTP ${status}`
  if (isOfRpc(status)) throw new NotThisOne(why, response)
  const text = await response.clone().text()
  if (ok && text.length > maxErrorCharacters) return response
  const errors = [parseJson(text)].flat().flatMap((answer) => AnyAnswer.parse(answer).error ?? [])
  if (errors.some(({ code }) => code === limitExceeded))
    throw new NotThisOne('limits requests', { status: tooManyRequests, headers })
  // Nodes report errors of a request, such as reverts, with HTTP 400, too.
  if (ok || errors.length > 0) return response
  throw new NotThisOne(why, response)
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)

function notice(list: RpcList, newest: bigint | undefined): void {
  list.highest = max(list.highest, newest ?? 0n)
}

const resultOf = async (response: Response): Promise<unknown> =>
  AnyAnswer.parse(parseJson(await response.text())).result

/** The newest blocks that the answer to one call, or to a batch, shows. */
async function blocksIn(body: string, response: Response) {
  const asked = Calls.parse([parseJson(body)].flat())
  const ids = asked.filter(({ method }) => method === 'eth_blockNumber').map(({ id }) => id)
  const answers = [parseJson(await response.text())].flat().map((one) => AnyAnswer.parse(one))
  return answers.filter(({ id }) => ids.includes(id)).map(({ result }) => blockOf(result))
}

function blockOf(result: unknown): bigint | undefined {
  return typeof result === 'string' && /^0x[0-9a-f]{1,16}$/i.test(result)
    ? BigInt(result)
    : undefined
}

/** Checks that an RPC is for the chain, and in step with the others. */
async function prove(
  list: RpcList,
  url: string,
  chainId: number,
  send: Send,
  init: RequestInit,
): Promise<void> {
  const asking = (method: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method, params: [] })
    return answerOf(url, send, { ...init, body })
  }
  const [chain, block] = await Promise.all([asking('eth_chainId'), asking('eth_blockNumber')])
  if ((await resultOf(chain)) !== toHex(chainId))
    throw new NotThisOne(`does not say that it is for chain ${chainId}`, chain)
  const newest = blockOf(await resultOf(block))
  if (newest === undefined) throw new NotThisOne('does not say its newest block', block)
  if (newest + maxBlocksBehind < list.highest) throw new Behind(newest, list.highest, block)
  notice(list, newest)
}

/** Why an RPC failed, without words of the runtime: they may show its address. */
function whyOf(error: unknown): string {
  if (error instanceof NotThisOne || error instanceof ProxyFailed) return error.message
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof AnswerRefused ? cause.message : 'does not respond'
}
