import { toFunctionSelector } from 'viem'
import { z } from 'zod'
import { nodeRegistryAbi } from '../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../lib/abi/result-registry.ts'
import { taskManagerAbi } from '../lib/abi/task-manager.ts'
import type { Fetch } from '../lib/outgoing.ts'
import { parseJson } from '../lib/parse-json.ts'
import { readLimited } from '../lib/read-limited.ts'
import type { Log } from './log.ts'

type Message = Request | Response

const maxShownBytes = 1_048_576

/** How requests are logged. */
export type DebugOptions = {
  /** The origin of the ICL. Its requests are logged by path alone. */
  readonly icl?: string
  /** Strings to mask everywhere, also where a server repeats them. */
  readonly secrets?: readonly (string | undefined)[]
}

/**
 * Logs requests and responses at DEBUG with their bodies (spec 6). Never logs headers. Of attestations, of bodies above 1 MiB and of those
 * that are not JSON it logs the length only.
 */
export const debuggingFetch =
  (fetch: Fetch, log: Pick<Log, 'debug'>, { icl, secrets = [] }: DebugOptions = {}): Fetch =>
  async (request) => {
    const { origin, pathname, search } = new URL(request.url)
    const isSecret = pathname.startsWith('/internal/attestation')
    const name = `${request.method} ${origin === icl ? '' : origin}${pathname}${search}`
    const say = (line: string) => log.debug(without(secrets, line))
    return await logged(fetch, request, name, isSecret, say)
  }

/** These methods show only what everyone can read from the chain, or is about to. */
const publicMethods: ReadonlySet<unknown> = new Set([
  'eth_blockNumber',
  'eth_chainId',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'eth_sendRawTransaction',
])

const callMethods: ReadonlySet<unknown> = new Set([
  'eth_call',
  'eth_estimateGas',
  'eth_fillTransaction',
])

const RpcRequest = z.object({ method: z.string(), params: z.array(z.unknown()).optional() })
const Call = z.object({ data: z.string() })
const shortestKey = 8
const selectorLength = '0x12345678'.length

/** The selectors of calls that hold public state only, whichever contract the ICL names: ours, and who may use a handle. */
const publicSelectors: ReadonlySet<string> = new Set(
  [...nodeRegistryAbi, ...promptKeyStoreAbi, ...resultRegistryAbi, ...taskManagerAbi].flatMap(
    (item) => (item.type === 'function' ? [toFunctionSelector(item)] : []),
  ),
)

/** Other calls go to the coprocessor. They may carry permits, and answers to them halves of keys. One without arguments asks for settings. */
function isPublicCall(call: unknown): boolean {
  const { data = '' } = Call.safeParse(call).data ?? {}
  const selector = data.slice(0, selectorLength).toLowerCase()
  return publicSelectors.has(selector) || data.length === selectorLength
}

/** Logs chain RPC calls at DEBUG. Never logs the RPC's address, because providers put API keys there. */
export const debuggingRpcFetch =
  (fetch: Fetch, log: Pick<Log, 'debug'>): Fetch =>
  async (request) => {
    const { data } = RpcRequest.safeParse(parseJson(await request.clone().text()))
    const isPublic = callMethods.has(data?.method)
      ? isPublicCall(data?.params?.[0])
      : publicMethods.has(data?.method)
    const secrets = apiKeysIn(new URL(request.url))
    const say = (line: string) => log.debug(without(secrets, line))
    return await logged(fetch, request, `Chain RPC ${data?.method}`, !isPublic, say)
  }

/** The parts of an RPC's address that may be a key. An answer may repeat them. */
const apiKeysIn = ({ pathname, searchParams, username, password }: URL): readonly string[] =>
  [...pathname.split('/'), ...searchParams.values(), username, password].filter(
    ({ length }) => length >= shortestKey,
  )

async function logged(
  fetch: Fetch,
  request: Request,
  name: string,
  isSecret: boolean,
  say: (line: string) => void,
): Promise<Response> {
  say(`${name} ${await shown(request, isSecret)}`)
  const response = await fetch(request)
  say(`${name} -> ${response.status} ${await shown(response, isSecret)}`)
  return response
}

/** Formats a body for the log: whole, or its length in brackets. */
async function shown(message: Message, isSecret: boolean): Promise<string> {
  if (message.body === null) return ''
  const bytes = await bodyOf(message)
  if (typeof bytes === 'string') return bytes
  if (isSecret) return `[secret, ${bytes.length} bytes]`
  const isJson = /json/.test(message.headers.get('content-type') ?? '')
  if (!isJson || message.headers.has('content-encoding')) return `[${bytes.length} bytes]`
  return new TextDecoder().decode(bytes)
}

async function bodyOf(message: Message): Promise<Uint8Array | string> {
  const length = message.headers.get('content-length') ?? `more than ${maxShownBytes}`
  const tooLong = `[too long to show, ${length} bytes]`
  // Not read in part: Node ends that only when the caller has read its copy.
  if (Number(length) > maxShownBytes) return tooLong
  try {
    return (await readLimited(message.clone(), maxShownBytes)) ?? tooLong
  } catch {
    // The caller reads the body, too, and gets the error.
    return '[cannot be read]'
  }
}

const without = (secrets: readonly (string | undefined)[], line: string): string =>
  secrets.reduce<string>((rest, secret) => (secret ? rest.replaceAll(secret, '[key]') : rest), line)
