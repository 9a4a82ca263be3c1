import { bytesToHex } from 'viem'
import { z } from 'zod'
import type { EncryptedInput } from '../chain/encrypted-input.ts'
import type { Clock } from '../clock.ts'
import { AnswerRefused, ask, type Fetch, type Outgoing } from '../outgoing.ts'
import { parseJson } from '../parse-json.ts'
import { SvcError } from '../svc-error.ts'

/*
 * The requests of `@cofhe/sdk` 0.5.1 to the coprocessor's verifier and threshold network. The SDK takes no fetch, and reads answers of any
 * size.
 */

const maxAnswerBytes = 65_536
const pollMs = 1_000
const uint128Type = 6

type Service = 'verifier' | 'threshold network'

/** How to call a service. The signal has to carry a deadline. */
export type ServiceCall = {
  readonly url: string
  readonly fetch: Fetch
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A service that refuses, or fails. `words` are what it said. */
export class ServiceFailure extends Error {
  readonly service: Service
  /** Undefined when there is no answer, or one of another form. */
  readonly status: number | undefined
  readonly words: string

  constructor(service: Service, words: string, status?: number, cause?: unknown) {
    const said = [status === undefined ? '' : `returns status ${status}`, words].filter(Boolean)
    super(`the ${service} ${said.join(': ')}`, { cause })
    this.service = service
    this.status = status
    this.words = words
  }
}

const Verified = z.object({
  status: z.literal('success'),
  data: z
    .array(
      z.object({
        ct_hash: z.string().regex(/^(0x[\da-f]{1,64}|\d{1,78})$/i),
        signature: z
          .string()
          .regex(/^(0x)?[\da-f]{128}$/i)
          .transform((hex) => hex.replace(/^0x/i, '')),
        recid: z.int().min(0).max(3),
      }),
    )
    .max(16),
})

/** Has the verifier check a proof of uint128 values, and returns its signed inputs in their order. Throws ServiceFailure. */
export async function verifyProof(
  call: ServiceCall,
  asked: { readonly proof: Uint8Array; readonly account: string; readonly chainId: number },
): Promise<readonly EncryptedInput[]> {
  const { ok, status, bytes } = await request('verifier', call, '/verify', {
    packed_list: bytesToHex(asked.proof).slice(2),
    account_addr: asked.account,
    security_zone: 0,
    chain_id: asked.chainId,
  })
  if (!ok) throw new ServiceFailure('verifier', new TextDecoder().decode(bytes), status)
  const verified = Verified.safeParse(parseJson(bytes))
  if (!verified.success) throw new ServiceFailure('verifier', 'sends another form')
  return verified.data.data.map(({ ct_hash, signature, recid }) => ({
    ctHash: BigInt(ct_hash),
    securityZone: 0,
    utype: uint128Type,
    signature: `0x${signature}${(recid + 27).toString(16)}`,
  }))
}

const Bytes = z
  .array(z.int().min(0).max(255))
  .max(1_024)
  .transform((list) => Uint8Array.from(list))
const Sealed = z.object({ data: Bytes, public_key: Bytes, nonce: Bytes })

/** A decrypted value, sealed to a permit. */
export type SealedValue = z.output<typeof Sealed>

const Reply = z.object({
  status: z.string().nullish(),
  is_succeed: z.boolean().nullish(),
  error_message: z.string().nullish(),
  message: z.string().nullish(),
  request_id: z.string().max(200).nullish(),
  sealed: Sealed.nullish(),
  sealed_data: Bytes.nullish(),
  ephemeral_public_key: Bytes.nullish(),
  nonce: Bytes.nullish(),
})

/** Has the threshold network decrypt a handle, sealed to the permit; waits until it has. Throws ServiceFailure. */
export async function sealOutput(
  call: ServiceCall,
  asked: { readonly handle: bigint; readonly chainId: number; readonly permit: unknown },
): Promise<SealedValue> {
  const body = {
    ct_tempkey: asked.handle.toString(16).padStart(64, '0'),
    host_chain_id: asked.chainId,
    permit: asked.permit,
  }
  const path = '/v2/sealoutput'
  let requestId: string | null | undefined
  for (;;) {
    const reply = requestId
      ? await askToSeal(call, `${path}/${encodeURIComponent(requestId)}`)
      : await askToSeal(call, path, body)
    const sealed = reply && sealedIn(reply)
    if (sealed) return sealed
    if (reply && !requestId && !reply.request_id) throw seals('sends another form')
    requestId ??= reply?.request_id
    await call.clock.sleep(pollMs, call.signal)
  }
}

/** Returns undefined for a service that has nothing to say yet. */
async function askToSeal(call: ServiceCall, path: string, body?: object) {
  const { ok, status, bytes } = await request('threshold network', call, path, body)
  if (status === 204) return undefined
  const reply = Reply.safeParse(parseJson(bytes))
  if (!ok) {
    throw seals(reply.data?.error_message ?? reply.data?.message ?? '', status)
  }
  if (!reply.success) throw seals('sends another form')
  return reply.data
}

function sealedIn(reply: z.output<typeof Reply>): SealedValue | undefined {
  const { sealed, sealed_data: data, ephemeral_public_key: public_key, nonce } = reply
  if (reply.is_succeed === false) throw seals(`fails: ${reply.error_message ?? 'no reason'}`)
  if (sealed) return sealed
  if (data && public_key && nonce) return { data, public_key, nonce }
  if (reply.status === 'COMPLETED') throw seals('sends no sealed value')
  return undefined
}

const seals = (words: string, status?: number) =>
  new ServiceFailure('threshold network', words, status)

async function request(
  service: Service,
  { url, fetch, signal }: ServiceCall,
  path: string,
  body: object | undefined,
) {
  const outgoing: Outgoing = {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json' },
    signal,
    ...(body && { body: JSON.stringify(body) }),
  }
  try {
    return await ask(fetch, `${url}${path}`, { ...outgoing, maxBytes: maxAnswerBytes })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (!(error instanceof AnswerRefused)) {
      throw new ServiceFailure(service, 'does not respond', undefined, error)
    }
    throw new SvcError('coprocessor-unavailable', `the ${service} ${error.message}`, {
      hint: 'Check the coprocessor addresses: cofhe_urls (SVC_COFHE_URLS).',
      cause: error,
    })
  }
}
