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

/** These methods show only the state of the chain. Others may carry halves of keys, or permits. */
const openMethods: ReadonlySet<unknown> = new Set([
  'eth_blockNumber',
  'eth_chainId',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getTransactionCount',
  'eth_maxPriorityFeePerGas',
])

/** Logs chain RPC calls at DEBUG by their method. Never logs the RPC's address, because providers put API keys there. */
export const debuggingRpcFetch =
  (fetch: Fetch, log: Pick<Log, 'debug'>): Fetch =>
  async (request) => {
    const { method }: { method?: unknown } = Object(parseJson(await request.clone().text()))
    const name = `Chain RPC ${String(method)}`
    return await logged(fetch, request, name, !openMethods.has(method), (line) => log.debug(line))
  }

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
  try {
    const bytes = await readLimited(message.clone(), maxShownBytes)
    if (bytes) return bytes
    const length = message.headers.get('content-length') ?? `more than ${maxShownBytes}`
    return `[too long to show, ${length} bytes]`
  } catch {
    // The caller reads the body, too, and gets the error.
    return '[cannot be read]'
  }
}

const without = (secrets: readonly (string | undefined)[], line: string): string =>
  secrets.reduce<string>((rest, secret) => (secret ? rest.replaceAll(secret, '[key]') : rest), line)
