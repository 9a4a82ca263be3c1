import { z } from 'zod'
import { abortable } from '../chain/abortable.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { AnswerRefused, type Fetch, openAnswer, readAnswer } from '../outgoing.ts'
import { parseJson } from '../parse-json.ts'
import { SvcError } from '../svc-error.ts'
import { timedOut } from './cofhe-errors.ts'

const fetchTimeoutMs = 60_000
const what = 'CoFHE encrypt failed'

// The prover finds out if it is not hex. Checking megabytes here would block the event loop.
const KeyHex = z.string().startsWith('0x').min(1_000)
const PublicKeyAnswer = z.object({ publicKey: KeyHex }).transform(({ publicKey }) => publicKey)
const CrsAnswer = z.object({ crs: KeyHex }).transform(({ crs }) => crs)
// A public key takes 66 kB as hex, a CRS of 2048 bits 9 MB.
const publicKey = { maxBytes: 1 << 20, schema: PublicKeyAnswer }
const crs = { maxBytes: 32 << 20, schema: CrsAnswer }

/** The network's public key and CRS, as hex. */
export type NetworkKeys = { readonly publicKeyHex: string; readonly crsHex: string }

/** The network's keys, fetched once. */
export type KeySource = {
  readonly current: (signal: AbortSignal) => Promise<NetworkKeys>
  /** Fetches them again; true when they differ from `known`. */
  readonly haveChanged: (known: NetworkKeys, signal: AbortSignal) => Promise<boolean>
  /** Drops them, so that the next `current` fetches them. */
  readonly drop: () => void
}

const noKeys = (why: string, cause?: unknown): SvcError =>
  new SvcError('coprocessor-unavailable', `${what}: no keys of the coprocessor: ${why}`, {
    hint: 'Check the coprocessor addresses: cofhe_urls (SVC_COFHE_URLS).',
    retryable: !(cause instanceof AnswerRefused),
    cause,
  })

const tooManyRequests = (): SvcError =>
  new SvcError('coprocessor-too-many-requests', `${what}: too many requests`, {
    hint: 'The coprocessor limits requests. Wait.',
    retryable: true,
  })

async function fetchKey<T>(
  fetch: Fetch,
  url: string,
  { maxBytes, schema }: { readonly maxBytes: number; readonly schema: z.ZodType<T> },
  signal: AbortSignal,
): Promise<T> {
  const { pathname } = new URL(url)
  try {
    const response = await openAnswer(fetch, url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ securityZone: 0 }),
      signal,
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw response.status === 429
        ? tooManyRequests()
        : noKeys(`${pathname} returns status ${response.status}`)
    }
    const parsed = schema.safeParse(parseJson(await readAnswer(response, maxBytes)))
    if (parsed.success) return parsed.data
  } catch (error) {
    throw error instanceof AnswerRefused ? noKeys(`${pathname} ${error.message}`, error) : error
  }
  throw noKeys(`${pathname} returns no key`)
}

/** Makes a source of keys from `cofheUrl`. Its calls throw `coprocessor-unavailable` or `coprocessor-too-many-requests`. */
export function createKeySource(cofheUrl: string, fetch: Fetch, clock: Clock): KeySource {
  let held: Promise<NetworkKeys> | undefined
  const fetchBoth = async (signal: AbortSignal): Promise<NetworkKeys> => {
    // When one download has failed, the other is of no use.
    const failed = new AbortController()
    const ended = AbortSignal.any([signal, failed.signal])
    try {
      const [publicKeyHex, crsHex] = await Promise.all([
        fetchKey(fetch, `${cofheUrl}/GetNetworkPublicKey`, publicKey, ended),
        fetchKey(fetch, `${cofheUrl}/GetCrs`, crs, ended),
      ])
      return { publicKeyHex, crsHex }
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const late = () => timedOut(what, fetchTimeoutMs)
  const fetchKeys = (): Promise<NetworkKeys> => {
    // Several callers may wait for one fetch, so no caller's signal ends it.
    const keys = withDeadline(clock, fetchTimeoutMs, undefined, late, fetchBoth).catch((error) => {
      if (held === keys) held = undefined
      throw error instanceof SvcError ? error : noKeys('the coprocessor does not respond', error)
    })
    held = keys
    return keys
  }
  const current = (signal: AbortSignal) => abortable(held ?? fetchKeys(), signal)
  return {
    current,
    haveChanged: async (known, signal) => {
      const before = await current(signal)
      // Another caller may have fetched them already.
      const now = before === known ? await abortable(fetchKeys(), signal) : before
      return now.publicKeyHex !== known.publicKeyHex || now.crsHex !== known.crsHex
    },
    drop: () => {
      held = undefined
    },
  }
}
