/*
 * Problem: an RPC fails, limits requests or goes away, and a program that has only one stops working.
 *
 * Idea: the setting may hold several addresses, with commas. Requests go to the one in use. When that fails, the next one is in use, until
 * it fails itself.
 *
 * Invariants: an RPC is in use only once it has said that it is for the right chain. A request fails only when each RPC has failed in its
 * turn. The same bytes may reach several RPCs: signed transactions are safe to repeat. Messages name hosts, since the rest of an address may
 * be a key. Each RPC gets its own credentials only.
 */
import { HttpRequestError, toHex } from 'viem'
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

/** Sends one request to one RPC, and gives the whole answer. */
type Send = (url: string, init: RequestInit) => Promise<Response>

/** An answer of one RPC because of which the next one is asked. */
class NotThisOne extends Error {
  readonly response: Response

  constructor(why: string, response: Response) {
    super(why)
    this.response = response
  }
}

/** Sends requests to the RPC in use. `onMoved` hears why another one is in use. */
export function inTurn(
  urls: readonly string[],
  chainId: number,
  send: Send,
  onMoved: (news: string) => void = () => {},
): (input: unknown, init?: RequestInit) => Promise<Response> {
  const proven = new Set<string>()
  let inUse = 0
  const attempt = async (url: string, init: RequestInit): Promise<Response> => {
    if (!proven.has(url)) await proveChain(url, chainId, send, init)
    proven.add(url)
    return await answerOf(url, send, init)
  }
  return async (_, init = {}) => {
    const failures: string[] = []
    let last: Response | undefined
    for (let tries = 0; tries < urls.length; tries++) {
      const at = inUse
      const url = urls[at] ?? ''
      try {
        const response = await attempt(url, init)
        if (failures.length > 0) onMoved(`${failures.join('; ')}: using the one at ${hostOf(url)}`)
        return response
      } catch (error) {
        if (init.signal?.aborted) throw error
        if (error instanceof NotThisOne) last = error.response
        failures.push(`the chain RPC at ${hostOf(url)} ${whyOf(error)}`)
        // Another request may have moved on meanwhile.
        if (inUse === at) inUse = (at + 1) % urls.length
      }
    }
    throw new HttpRequestError({
      ...(last && !last.ok && { status: last.status, headers: last.headers }),
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
  if (response.ok) return response
  throw new NotThisOne(`responds with HTTP ${response.status}`, response)
}

async function proveChain(
  url: string,
  chainId: number,
  send: Send,
  init: RequestInit,
): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] })
  const response = await answerOf(url, send, { ...init, body })
  const answer = parseJson(new Uint8Array(await response.arrayBuffer()))
  const result =
    typeof answer === 'object' && answer !== null && 'result' in answer && answer.result
  if (result === toHex(chainId)) return
  throw new NotThisOne(`does not say that it is for chain ${chainId}`, response)
}

/** Why an RPC failed, without words of the runtime: they may show its address. */
function whyOf(error: unknown): string {
  if (error instanceof NotThisOne || error instanceof ProxyFailed) return error.message
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof AnswerRefused ? cause.message : 'does not respond'
}
