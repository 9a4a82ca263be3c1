import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { AnswerRefused, type Fetch, openAnswer, readAnswer } from '../../lib/outgoing.ts'
import { retrying } from '../../lib/retry.ts'
import { retryAfterMsOf } from '../../lib/retry-after.ts'
import { SvcError } from '../../lib/svc-error.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The address of Kubo's RPC, and the limits of its calls; times in milliseconds. */
export type KuboRpcOptions = {
  readonly rpcUrl: string
  /** The header `authorization` that the RPC needs; a secret. */
  readonly authorization?: string | undefined
  readonly fetch: Fetch
  readonly clock: Clock
  /** The limit of one attempt, with its answer. */
  readonly attemptMs?: number | undefined
  readonly attempts?: number | undefined
}

type KuboCall = {
  readonly command: string
  readonly query?: Readonly<Record<string, string>>
  readonly file?: Bytes
  readonly signal?: AbortSignal | undefined
  /** The limit of an answer; 1 MiB by default. */
  readonly maxBytes?: number
  /** The limit of one attempt, if this call may take longer than others. */
  readonly attemptMs?: number
  /** Reads the wanted part of an answer that is no refusal, by default all of it; undefined when it has more than `maxBytes`. */
  readonly read?: (response: Response, maxBytes: number) => Promise<Bytes | undefined>
}

/** Kubo's answer: bytes, or its message why there are none. */
export type KuboAnswer = { readonly bytes: Bytes } | { readonly refusal: string }

/** Calls Kubo's RPC. Throws SvcError `kubo-...` when it does not answer, or refuses this ICL. */
export type KuboRpc = (call: KuboCall) => Promise<KuboAnswer>

const firstDelayMs = 200
const maxDelayMs = 2_000
const Refusal = z.object({ Message: z.string().max(2_000) })

/** Creates the calls of one Kubo. A failed call is repeated, so each call has to be safe to repeat. */
export function createKuboRpc(options: KuboRpcOptions): KuboRpc {
  const { clock, attemptMs = 4_000, attempts = 3 } = options
  const policy = { attempts, firstDelayMs, maxDelayMs }
  return (call) => {
    const ms = call.attemptMs ?? attemptMs
    const late = () => new KuboAway(`gave no whole answer within ${ms} ms`)
    return retrying(clock, policy, call.signal, retryAfterMs, () =>
      withDeadline(clock, ms, call.signal, late, (signal) => ask(options, call, signal)),
    )
  }
}

async function ask(
  { rpcUrl, authorization, fetch, clock }: KuboRpcOptions,
  { command, query, file, maxBytes = maxBlobBytes, read }: KuboCall,
  signal: AbortSignal,
): Promise<KuboAnswer> {
  const url = `${rpcUrl}/api/v0/${command}?${new URLSearchParams(query)}`
  const failing = (how: string) => (error: unknown) => {
    if (signal.aborted) throw signal.reason
    if (error instanceof AnswerRefused) throw refused(`${error.message} (${command})`, error)
    throw new KuboAway(how, { cause: error })
  }
  const response = await openAnswer(fetch, url, {
    method: 'POST',
    signal,
    ...(authorization !== undefined && { headers: { authorization } }),
    ...(file !== undefined && { body: formOf(file) }),
  }).catch(failing('cannot be reached'))
  const bytes = await readAnswer(response, maxBytes, response.ok ? read : undefined).catch(
    failing('broke off its answer'),
  )
  if (response.ok) return { bytes }
  // Kubo reports its own errors with 500 and a message. Other errors come from a proxy.
  const refusal = response.status === 500 ? wordsOf(bytes) : undefined
  if (refusal !== undefined) return { refusal }
  const { status, headers } = response
  if (status === 429 || status >= 500) {
    throw new KuboAway(`answered ${status}`, { waitMs: retryAfterMsOf(headers, clock.now()) })
  }
  throw refused(`answered ${status} to ${command}`)
}

function formOf(file: Bytes): FormData {
  const form = new FormData()
  form.append('file', new Blob([file]))
  return form
}

function wordsOf(bytes: Bytes): string | undefined {
  try {
    return Refusal.parse(JSON.parse(new TextDecoder().decode(bytes))).Message
  } catch {
    return undefined
  }
}

/** Parses an answer of Kubo. Throws SvcError `kubo-refused` when it is a refusal, or does not match the schema. */
export function readKubo<T>(schema: z.ZodType<T>, command: string, answer: KuboAnswer): T {
  if ('refusal' in answer) throw refused(`refused ${command}: ${answer.refusal.slice(0, 200)}`)
  try {
    return schema.parse(JSON.parse(new TextDecoder().decode(answer.bytes)))
  } catch (error) {
    throw refused(`gave an answer to ${command} that is none of its own`, error)
  }
}

/** The error of a Kubo, or its proxy, that is away. `waitMs` is the wait that it asked for. */
class KuboAway extends SvcError {
  readonly waitMs: number

  constructor(how: string, options: { cause?: unknown; waitMs?: number | undefined } = {}) {
    super('kubo-unreachable', `Kubo ${how}`, {
      hint: 'Check that Kubo runs and that SVC_ICL_BLOBS names its RPC.',
      retryable: true,
      cause: options.cause,
    })
    this.waitMs = Math.min(options.waitMs ?? 0, maxDelayMs)
  }
}

const retryAfterMs = (error: unknown): number | undefined =>
  error instanceof KuboAway ? error.waitMs : undefined

const refused = (how: string, cause?: unknown): SvcError =>
  new SvcError('kubo-refused', `Kubo ${how}`, {
    hint: 'Check the address in SVC_ICL_BLOBS and what its RPC asks for (SVC_ICL_KUBO_AUTHORIZATION).',
    cause,
  })
