import { type CallerKey, callerOf } from './caller-keys.ts'
import { OpenAiError } from './openai-error.ts'

/** Whose requests are answered. */
export type GuardOptions = {
  /** Callers must show one of these keys; anyone may call when there are none. */
  readonly keys: readonly CallerKey[]
  /** Names under which the gateway may be called; any name when left out. */
  readonly hosts?: ReadonlySet<string> | undefined
  /** Web pages that may call. */
  readonly origins: ReadonlySet<string>
}

const forbidden = (message: string, code: string): OpenAiError =>
  new OpenAiError(403, 'permission_error', message, { code })

/** Returns the name of the caller's key, if there are keys. Throws OpenAiError 401 or 403. */
export function checkCaller(
  request: Request,
  { keys, hosts, origins }: GuardOptions,
): string | undefined {
  const host = request.headers.get('host') ?? ''
  // Else a web page whose name resolves to this address would have the gateway's own origin.
  if (hosts && !hosts.has(nameOf(host))) {
    throw forbidden(
      `This gateway refuses the name ${JSON.stringify(host.slice(0, 100))}. Call it by localhost or 127.0.0.1, or start it with --allow-host for this name`,
      'host_not_allowed',
    )
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !origins.has(origin)) {
    throw forbidden(
      `Web pages and apps may not call this gateway, unless --allow-origin names their Origin. This one has ${JSON.stringify(origin.slice(0, 100))}`,
      'origin_not_allowed',
    )
  }
  if (request.method === 'OPTIONS' || keys.length === 0) return undefined
  const { headers } = request
  const bearer = headers.get('authorization')?.replace(/^Bearer +/i, '') ?? ''
  // Anthropic's clients may send both, of which one can be for another server.
  const caller = callerOf(bearer, keys) ?? callerOf(headers.get('x-api-key') ?? '', keys)
  if (caller !== undefined) return caller
  throw new OpenAiError(
    401,
    'authentication_error',
    'The API key is missing or wrong. Send it as Authorization: Bearer KEY, or as x-api-key. It is the value of SVC_GATEWAY_KEY, or one of SVC_GATEWAY_KEYS_FILE',
    {
      code: 'invalid_api_key',
    },
  )
}

/** Returns the CORS headers for pages of an allowed origin; none for others. */
export function corsHeaders(request: Request, { origins }: GuardOptions): Record<string, string> {
  const origin = request.headers.get('origin')
  if (origin === null || !origins.has(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? '*',
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-expose-headers':
      'x-svc-agreement, x-svc-pool-left-out, x-svc-job-id, x-svc-receipt-hash, x-svc-commit-tx, x-svc-commit-unseen, x-svc-ignored, x-should-retry, retry-after',
    vary: 'origin',
  }
}

const nameOf = (host: string): string => host.toLowerCase().replace(/:\d+$/, '')
