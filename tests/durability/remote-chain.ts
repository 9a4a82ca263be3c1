import type { Chain } from '../../icl/chain/chain.ts'
import { coordinator } from '../icl/fake-chain.ts'

const methods = [
  'ping',
  'latestBlock',
  'nodeOf',
  'nodesOf',
  'keyRecordOf',
  'isAllowed',
  'grantAccess',
  'findCommitment',
  'commitResults',
  'slashOf',
  'proposeSlash',
  'executeSlash',
  'findFaults',
] as const

type Call = { readonly method: (typeof methods)[number]; readonly args: readonly unknown[] }

const encode = (value: unknown): string =>
  JSON.stringify({ value }, (_, part: unknown) => {
    if (typeof part === 'bigint') return { $bigint: part.toString() }
    return part instanceof Map ? { $map: [...part] } : part
  })

type Part = { readonly $bigint?: string; readonly $map?: [unknown, unknown][] } | null

const decode = (text: string): unknown =>
  (
    JSON.parse(text, (_, part: Part) => {
      if (part?.$bigint !== undefined) return BigInt(part.$bigint)
      return part?.$map === undefined ? part : new Map(part.$map)
    }) as { value: unknown }
  ).value

/** Serves a chain to processes that may be killed: it has to outlive them, as a real one does. */
export function serveChain(chain: Chain) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { method, args } = decode(await request.text()) as Call
      const call = chain[method] as (...args: readonly unknown[]) => Promise<unknown>
      return new Response(encode(await call(...args)))
    },
  })
  return { url: server.url.href, stop: () => server.stop(true) }
}

/** The chain that `serveChain` serves. */
export function connectChain(url: string): Chain {
  const call =
    (method: (typeof methods)[number]) =>
    async (...args: readonly unknown[]) => {
      const body = encode({ method, args: args.filter((arg) => !(arg instanceof AbortSignal)) })
      const response = await fetch(url, { method: 'POST', body })
      return decode(await response.text())
    }
  const calls = Object.fromEntries(methods.map((method) => [method, call(method)]))
  return { coordinator, ...calls } as unknown as Chain
}
