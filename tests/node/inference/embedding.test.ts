import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/system.ts'
import { createEmbedding } from '../../../node/inference/embedding.ts'
import { comparatorsWith, offerEmbedding } from '../../../node/inference/embedding-offer.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

const apiKey = 'sk-test-do-not-log-1234567890'
const text = 'A secret answer.'
const vector = Array.from({ length: 1_536 }, (_, index) => ((index % 5) - 2) / 100)
const log = recordingLog()
const never = new AbortController().signal

let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function embed(
  answer: (response: ServerResponse, count: number) => void,
  signal = never,
  attemptMs = 30_000,
) {
  server = await startServer((response, _, count) => answer(response, count))
  const options = { apiKey, baseUrl: server.url, clock: systemClock, log, attemptMs }
  return await createEmbedding({ ...options, firstBackoffMs: 5 })(text, signal)
}

const giving = (embedding: unknown) => ({ object: 'list', data: [{ index: 0, embedding }] })

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    (error: { code?: string; message: string; hint?: string }) => {
      for (const secret of [apiKey, text]) {
        expect(`${error.message} ${error.hint}`).not.toContain(secret)
      }
      return error.code ?? error.message
    },
  )

describe('the embedding API', () => {
  it('is asked for the pinned model and gives its vector', async () => {
    expect(await embed((response) => answerJson(response, 200, giving(vector)))).toEqual(vector)
    const [request] = server?.seen ?? []
    expect(request?.path).toBe('/v1/embeddings')
    expect(request?.headers.authorization).toBe(`Bearer ${apiKey}`)
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      model: 'text-embedding-3-small',
      input: text,
      encoding_format: 'float',
    })
  })

  it.each([429, 500, 503])('is asked again after status %i', async (status) => {
    const found = embed((response, count) => {
      if (count < 3) answerJson(response, status, { error: { message: text } })
      else answerJson(response, 200, giving(vector))
    })
    expect(await found).toEqual(vector)
  })

  it.each([
    [400, 'embedding-refused', 1],
    [401, 'embedding-refused', 1],
    [404, 'embedding-refused', 1],
    [503, 'embedding-unavailable', 3],
  ] as const)('that answers %i ends with %s', async (status, code, requests) => {
    const work = embed((response) =>
      answerJson(response, status, { error: { message: `${text} ${apiKey}` } }),
    )
    expect(await codeOf(work)).toBe(code)
    expect(server?.seen).toHaveLength(requests)
  })

  it.each([
    ['of another length', giving([1, 2, 3])],
    ['of words', giving(vector.map(String))],
    ['too large', giving(vector.map(() => 1e9))],
    ['missing', { object: 'list', data: [] }],
  ])('is refused when its vector is %s', async (_, body) => {
    const work = embed((response) => answerJson(response, 200, body))
    expect(await codeOf(work)).toBe('embedding-refused')
    expect(server?.seen).toHaveLength(1)
  })

  it('that is silent is unavailable', async () => {
    // Long enough for a request to arrive on a busy machine.
    expect(await codeOf(embed(() => {}, never, 1_000))).toBe('embedding-unavailable')
    expect(server?.seen).toHaveLength(3)
  })

  it('is no longer waited for when its caller gives up', async () => {
    const ended = new AbortController()
    const work = embed(() => ended.abort(new Error('given up')), ended.signal)
    await expect(work).rejects.toThrow('given up')
  })
})

describe('what a node can compare by', () => {
  const offer = (config: Parameters<typeof offerEmbedding>[0], environment = {}) =>
    offerEmbedding(config, environment, systemClock, log)
  const none = { embedding_base_url: undefined, providers: {} }
  const openAiKey = { OPENAI_API_KEY: apiKey }

  it('includes semantic/1 only with a key for the embedding model', async () => {
    expect(comparatorsWith(await offer(none))).toEqual(['exact', 'similar/1'])
    for (const environment of [openAiKey, { SVC_EMBEDDING_API_KEY: apiKey }]) {
      expect(comparatorsWith(await offer(none, environment))).toEqual([
        'exact',
        'similar/1',
        'semantic/1',
      ])
    }
  })

  it('shows the key of another server to OpenAI never', async () => {
    const openai = { base_url: 'http://models.example', allow_http: true }
    const other = { ...none, providers: { openai } }
    expect(await offer(other, openAiKey)).toBeUndefined()
    expect(
      await offer({ ...other, embedding_base_url: 'http://models.example' }, openAiKey),
    ).toBeDefined()
  })
})
