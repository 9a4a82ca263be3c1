import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { AnswerRefused, ask, type Fetch } from '../../lib/outgoing.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { baseUrlVariable } from '../../lib/providers.ts'
import { ProxyFailed } from '../../lib/proxy.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { networkCodeIn } from './provider-fault.ts'
import { headersToSend } from './provider-fetch.ts'
import type { Provider } from './providers.ts'

/*
 * Checks that a provider's API is where the configuration says, before a job needs it and without running a model. Lists the models. A
 * server without a list gets an empty completion request, which an API refuses as invalid and another kind of server does not know. An
 * error that only the operator can mend is not retryable: another server responds, nothing is at the path, the key is refused. An error of
 * a server that is away, unknown to the DNS, slow, failing or at its rate limit is retryable.
 */

const patienceMs = 15_000
const maxListBytes = 4 * 1_048_576
const maxModels = 10_000

/** The dependencies of a probe. */
export type ProbeDeps = { readonly fetch: Fetch; readonly clock: Clock }

type Reply = {
  readonly status: number
  /** The media type, if it is well-formed. */
  readonly type: string
  /** Undefined when the body is not JSON. */
  readonly json: unknown
}

/** Returns the models that a provider lists, undefined without a list. Throws SvcError `provider-...` with what the operator must do. */
export async function probeProvider(
  provider: Provider,
  apiKey: string | undefined,
  deps: ProbeDeps,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  return await asking(provider, deps, signal, async (ended) => {
    const asked: Asking = (path, { baseUrl = provider.baseUrl, body } = {}) =>
      askOnce({ path, body, signal: ended }, { ...provider, baseUrl }, apiKey, deps)
    const listed = await asked(provider.paths.models)
    const models = modelsIn(listed)
    if (models !== undefined) return models
    checkReply(provider, apiKey, listed)
    if (listed.status === 200 && listed.json === undefined) throw isForeign(provider, listed)
    const tried = await asked(provider.paths.completions, { body: {} })
    // Some servers answer an empty request with status 500.
    if (tried.status === 500 && tried.json !== undefined) return undefined
    checkReply(provider, apiKey, tried)
    if (tried.json !== undefined && ![404, 405].includes(tried.status)) return undefined
    const isPath = [404, 405].includes(tried.status)
    throw isPath ? await isElsewhere(provider, asked) : isForeign(provider, tried)
  })
}

/** True for an error that another key can mend. */
export const isKeyRefused = (error: unknown): boolean =>
  error instanceof SvcError && error.code === 'provider-key-refused'

/** Returns whether the provider knows a model that it does not list, such as an alias. Throws as `probeProvider` does. */
export async function knowsModel(
  provider: Provider,
  model: string,
  apiKey: string | undefined,
  deps: ProbeDeps,
): Promise<boolean> {
  const path = `${provider.paths.models}/${encodeURIComponent(model)}`
  const { status, json } = await asking(provider, deps, undefined, (signal) =>
    askOnce({ path, signal }, provider, apiKey, deps),
  )
  return status === 200 && idOf(json) !== undefined
}

async function asking<T>(
  provider: Provider,
  { clock }: ProbeDeps,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () =>
    failure(provider, 'provider-silent', `gives no answer within ${patienceMs / 1000} s`, {
      hint: `Check the server, the network, and the base URL (${placeOf(provider)}).`,
      retryable: true,
    })
  try {
    return await withDeadline(clock, patienceMs, signal, late, work)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof AnswerRefused) throw isNoApi(provider, error.message)
    throw error instanceof SvcError ? error : isUnreachable(provider, error)
  }
}

type Asking = (
  path: string,
  change?: { readonly baseUrl?: string; readonly body?: object },
) => Promise<Reply>

/** Asks as a job does, by the SDK's own address and headers: a server may take one form of the key and not another. */
async function askOnce(
  asked: {
    readonly path: string
    readonly body?: object | undefined
    readonly signal: AbortSignal
  },
  { load, baseUrl }: Provider,
  apiKey: string | undefined,
  { fetch }: ProbeDeps,
): Promise<Reply> {
  const { path, body, signal } = asked
  const client = (await load()).clientOf({ apiKey, baseUrl })
  const method = body === undefined ? 'get' : 'post'
  const { url, req } = await client.buildRequest({ method, path, ...(body && { body }) })
  const headers = headersToSend(url, req.headers)
  const answer = await ask(fetch, url, { ...req, headers, signal, maxBytes: maxListBytes })
  const [type = ''] = answer.headers.get('content-type')?.toLowerCase().split(';') ?? []
  const isType = /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(type)
  const { status, bytes } = answer
  return { status, type: isType ? type : 'no content type', json: parseJson(bytes) }
}

function idOf(model: unknown): string | undefined {
  if (typeof model !== 'object' || model === null || !('id' in model)) return undefined
  return typeof model.id === 'string' && model.id.length <= 256 ? model.id : undefined
}

/** Most servers wrap the list in `data`, some do not. */
function modelsIn({ status, json }: Reply): readonly string[] | undefined {
  const list =
    typeof json === 'object' && json !== null && 'data' in json ? (json.data ?? []) : json
  if (status !== 200 || !Array.isArray(list)) return undefined
  return list.slice(0, maxModels).flatMap((model) => idOf(model) ?? [])
}

/** Throws for a refused key, another kind of server, or a failure, which a list of models and a completion report alike. */
function checkReply(provider: Provider, apiKey: string | undefined, reply: Reply): void {
  const { status, type } = reply
  const isPage = type === 'text/html'
  if (status === 429 || (status >= 500 && status !== 501)) {
    const code = status === 429 ? 'provider-rate-limited' : 'provider-unavailable'
    throw failure(provider, code, `returns status ${status}`, {
      hint: "Wait, and look at the provider's status page and rate limits.",
      retryable: true,
    })
  }
  if (status !== 401 && status !== 403) return
  if (isPage) throw isForeign(provider, reply)
  const { keyVariable, name } = provider
  const said = apiKey === undefined ? 'wants a key' : 'refuses the key'
  throw failure(provider, 'provider-key-refused', `${said} (status ${status})`, {
    hint:
      apiKey === undefined
        ? `Set ${keyVariable}, or name the variable of the key in providers.${name}.api_key_env.`
        : `Check ${keyVariable}: the provider refuses this key.`,
  })
}

const isForeign = (provider: Provider, { status, type }: Reply): SvcError =>
  isNoApi(provider, `sends ${type} in place of JSON (status ${status})`)

function isNoApi(provider: Provider, said: string): SvcError {
  return failure(provider, 'provider-protocol-wrong', `${said}: this is not the API`, {
    hint: `Correct the base URL (${placeOf(provider)}), and see that no proxy or login page responds in place of the server.`,
  })
}

/** The error when nothing is at the path. Most often /v1 is missing, so the probe tries it. */
async function isElsewhere(provider: Provider, ask: Asking): Promise<SvcError> {
  const { baseUrl } = provider
  const other = `${baseUrl.endsWith('/v1') ? new URL(baseUrl).origin : baseUrl}/v1`
  const isThere =
    other !== baseUrl &&
    (await ask(provider.paths.models, { baseUrl: other }).then(modelsIn, () => undefined)) !==
      undefined
  return failure(provider, 'provider-protocol-wrong', 'has no API at this path (status 404)', {
    hint: isThere
      ? `Set the base URL to ${other}, where the API is (${placeOf(provider)}).`
      : `Correct the path of the base URL (${placeOf(provider)}). Most servers have their API at /v1.`,
  })
}

const dnsCodes = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME']

function isUnreachable(provider: Provider, error: unknown): SvcError {
  const { hostname, host } = new URL(provider.baseUrl)
  const code = networkCodeIn(error)
  const place = placeOf(provider)
  const named = /^[\w.-]{1,64}$/.test(code) ? ` (${code})` : ''
  let [said, hint] = [`cannot be reached${named}`, `Check the network and the base URL (${place}).`]
  if (error instanceof ProxyFailed) [said, hint] = [error.message, error.hint]
  else if (dnsCodes.includes(code)) {
    said = `has an unknown host: ${hostname}`
    hint = `Correct the host in the base URL (${place}), or check the DNS.`
  } else if (code === 'ECONNREFUSED' || code === 'ConnectionRefused') {
    said = `refuses connections: nothing listens at ${host}`
    hint = `Start the server, or correct host and port (${place}).`
  } else if (/CERT|SSL|TLS|SIGNATURE/.test(code)) {
    said = `has no trusted TLS certificate (${code})`
    hint = `Check https or http in the base URL (${place}), and the certificate of the server.`
  }
  return failure(provider, 'provider-unreachable', said, { hint, retryable: true, cause: error })
}

const placeOf = ({ name }: Provider): string =>
  `${baseUrlVariable(name)} or providers.${name}.base_url`

const failure = (
  { name, baseUrl }: Provider,
  code: string,
  said: string,
  details: ConstructorParameters<typeof SvcError>[2],
): SvcError => new SvcError(code, `provider ${name} at ${baseUrl} ${said}`, details)
