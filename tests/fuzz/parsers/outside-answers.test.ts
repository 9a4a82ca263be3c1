import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { createApi } from '../../../lib/api.ts'
import { createGatewayBlobs } from '../../../lib/blobs/gateways.ts'
import type { Clock } from '../../../lib/clock.ts'
import { endpoints, type OperationId } from '../../../lib/endpoints.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { retryAfterMsOf } from '../../../lib/retry-after.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { expectTyped, expectUnpolluted, forAll, hostileJson, itHolds } from './runs.ts'

// Whatever is longer is a deadline.
const longestWaitMs = 8_000

/** A clock on which waiting takes no time, and deadlines never come. */
const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) =>
    ms > longestWaitMs
      ? new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      : Promise.resolve(),
}

const status = fc.constantFrom(200, 200, 200, 204, 301, 400, 401, 403, 404, 409, 418, 429, 500, 503)
const headers = fc.dictionary(
  fc.constantFrom(
    'retry-after',
    'content-type',
    'retry-after-ms',
    'content-length',
    'x-should-retry',
  ),
  fc.constantFrom(
    '0',
    '1',
    '-1',
    '99999999999',
    'Infinity',
    '1e400',
    'soon',
    'application/json',
    'application/problem+json',
    'Wed, 21 Oct 2015 07:28:00 GMT',
    'true',
  ),
)
const body = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
  fc.uint8Array({ maxLength: 100 }),
  hostileJson.map((value) => new TextEncoder().encode(JSON.stringify(value))),
  hostileJson.map((error) =>
    new TextEncoder().encode(JSON.stringify({ error, code: 'rate-limited' })),
  ),
  fc
    .constantFrom(
      '{"choices":[{"message":{"content":5}}]}',
      '{"choices":{}}',
      '{"content":[{"type":"text"}]}',
    )
    .map((text) => new TextEncoder().encode(text)),
)
const answer = fc.record({ status, headers, body }).map(
  ({ status: code, headers: given, body: bytes }) =>
    () =>
      new Response(code === 204 ? null : new Uint8Array(bytes), { status: code, headers: given }),
)

describe('answers from outside', () => {
  itHolds('of an ICL: any of them is an answer, a problem or an error that says so', async () => {
    const open = (Object.keys(endpoints) as OperationId[]).filter(
      (id) =>
        !('params' in endpoints[id]) && !('body' in endpoints[id]) && !('query' in endpoints[id]),
    )
    expect(open.length).toBeGreaterThan(4)
    await forAll(200, answer, fc.constantFrom(...open), async (respond, id) => {
      const api = createApi({
        baseUrl: 'https://icl.test',
        fetch: async () => respond(),
        clock: hastyClock,
        random: systemRandom,
      })
      const call = api[id] as (input: object) => Promise<unknown>
      await call({}).catch(expectTyped)
    })
    expectUnpolluted()
  })

  itHolds('of gateways: none but the bytes themselves counts', async () => {
    const cid = `bafkrei${'a'.repeat(52)}`
    await forAll(120, fc.array(answer, { minLength: 1, maxLength: 3 }), async (answers) => {
      let asked = 0
      const blobs = createGatewayBlobs({
        gateways: ['https://one.test', 'https://two.test'],
        fetch: async () => answers[asked++ % answers.length]!(),
        clock: hastyClock,
      })
      const error = await blobs.download(cid).catch((refused: unknown) => refused)
      expect(error).toBeInstanceOf(SvcError)
      // Four rounds, and a minute of responses with Retry-After.
      expect(asked).toBeLessThanOrEqual(2 * (4 + 60))
    })
  })

  itHolds('of providers: a text, or an error of this service that shows no key', async () => {
    const key = 'sk-planted-provider-key'
    for (const create of [createOpenAi, createAnthropic]) {
      await forAll(80, answer, async (respond) => {
        let asked = 0
        const provider = create({
          ...{ name: 'some', keyVariable: 'SOME_API_KEY', apiKey: key },
          baseUrl: 'https://provider.test/v1',
          clock: hastyClock,
          log: { debug: () => {} },
          fetch: async () => {
            asked++
            return respond()
          },
        })
        const completion = { model: 'm', prompt: promptOfText('p'), maxOutputTokens: 5 }
        const outcome = await provider.complete(completion).catch((error: unknown) => {
          expect(error).toBeInstanceOf(SvcError)
          expect(String(error)).not.toContain(key)
          return { text: '' }
        })
        expect(typeof outcome.text).toBe('string')
        expect(asked).toBeLessThanOrEqual(12)
      })
    }
  })

  itHolds('ask for a wait that is a number, or for none', () =>
    forAll(300, fc.string({ maxLength: 30 }), (text) => {
      const given = new Headers({ 'retry-after': text.replace(/[^\x20-\x7e]/g, '') })
      const ms = retryAfterMsOf(given, 0)
      expect(ms === undefined || (Number.isFinite(ms) && ms > 0)).toBe(true)
    }),
  )
})
