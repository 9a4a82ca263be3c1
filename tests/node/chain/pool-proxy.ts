import { type Hex, keccak256, parseTransaction, recoverTransactionAddress, toHex } from 'viem'
import { type Fate, type HttpProxy, startProxy } from '../../e2e/proxy.ts'

type Held = {
  readonly raw: Hex
  readonly from: string
  readonly nonce: number
  readonly fee: bigint
}

const methodOf = (body: string) => /"method":"(\w+)"/.exec(body)?.[1] ?? ''

/**
 * An RPC in front of anvil with the pool of geth: a transaction that pays too little waits for ever, the same bytes are `already known`, and
 * a replacement has to pay a tenth more.
 */
export async function startPoolProxy(rpcUrl: string) {
  const proxy = await startProxy()
  proxy.target = rpcUrl
  return poolOn(proxy)
}

/** Puts that pool on a proxy. */
export function poolOn(proxy: HttpProxy) {
  const held: Held[] = []
  const sent: Hex[] = []
  const pool = {
    url: proxy.url,
    /** By how many blocks the state is old that the RPC shows. */
    behind: 0,
    /** Transactions that pay less for a unit of gas wait. */
    leastFee: 0n,
    /** The transactions that were handed over, in order. */
    sent,
    held,
    /** Responds to the next broadcasts, the first one first; the pool has its usual rules when there is none. */
    next: [] as ((pass: () => Promise<unknown>) => Fate | Promise<Fate>)[],
    stop: proxy.stop,
  }
  const onward = async (body: string): Promise<{ result?: unknown }> => {
    const headers = { 'content-type': 'application/json' }
    return (await (await fetch(proxy.target, { method: 'POST', headers, body })).json()) as object
  }
  const take = async (raw: Hex, body: string): Promise<Fate> => {
    const json = JSON.parse(body) as { id: number }
    const answer = (part: object): Fate => ({
      status: 200,
      json: { jsonrpc: '2.0', id: json.id, ...part },
    })
    const refuse = (message: string) => answer({ error: { code: -32_000, message } })
    const parsed = parseTransaction(raw)
    const serializedTransaction = raw as Parameters<
      typeof recoverTransactionAddress
    >[0]['serializedTransaction']
    const from = (await recoverTransactionAddress({ serializedTransaction })).toLowerCase()
    const { nonce = 0, maxFeePerGas: fee = 0n } = parsed
    const at = held.findIndex((one) => one.from === from && one.nonce === nonce)
    const before = held[at]
    if (before?.raw === raw) return refuse('already known')
    if (before && fee * 10n < before.fee * 11n) return refuse('replacement transaction underpriced')
    if (before) held.splice(at, 1)
    if (fee >= pool.leastFee) return 'pass'
    held.push({ raw, from, nonce, fee })
    return answer({ result: keccak256(raw) })
  }
  const late = async (body: string): Promise<Fate> => {
    const asked = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }
    const { result } = await onward(JSON.stringify(asked))
    const block = toHex(Number(result) - pool.behind)
    const { id } = JSON.parse(body) as { id: number }
    const json = body.includes('"eth_blockNumber"')
      ? { jsonrpc: '2.0', id, result: block }
      : await onward(body.replaceAll(/"(latest|pending)"/g, `"${block}"`))
    return { status: 200, json }
  }
  proxy.decide = async ({ body }) => {
    const method = methodOf(body)
    if (pool.behind > 0) return await late(body)
    if (method === 'eth_sendRawTransaction') {
      const raw = (JSON.parse(body) as { params: [Hex] }).params[0]
      sent.push(raw)
      const special = pool.next.shift()
      return special ? await special(() => onward(body)) : await take(raw, body)
    }
    if (method === 'eth_getTransactionCount' && body.includes('"pending"')) {
      return {
        change: ({ result, ...json }) => {
          let count = Number(result)
          const [address] = (JSON.parse(body) as { params: [string] }).params
          while (held.some(({ from, nonce }) => from === address.toLowerCase() && nonce === count))
            count++
          return { ...json, result: toHex(count) }
        },
      }
    }
    return 'pass'
  }
  return pool
}
