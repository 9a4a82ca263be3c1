import { createGateway } from '../../../client/gateway/gateway.ts'
import type { GatewayOptions } from '../../../client/gateway/gateway-options.ts'
import type { AcceptedInference, Inference } from '../../../lib/client/inference.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { aJobId } from '../../branded.ts'

type Infer = GatewayOptions['client']['infer']

export const jobId: JobId = aJobId(`0x${'ab'.repeat(32)}`)

/** An accepted answer, as far as a gateway looks at it. */
export const acceptedAs = (output: string, model: string): AcceptedInference =>
  ({
    jobId,
    status: 'accepted',
    model,
    output,
    ended: 'stop',
    agreed: { agreed: 3, answers: 3, differed: [], listLength: 9, isWholePool: false },
    receiptHash: `0x${'cd'.repeat(32)}`,
    commitTx: `0x${'ef'.repeat(32)}`,
  }) as unknown as AcceptedInference

type FakeChanges = Partial<Omit<GatewayOptions, 'client'>> & {
  readonly client?: Partial<GatewayOptions['client']>
}

/** A gateway in this process with a client that does what a test says, and what the client was asked. */
export function fakeGateway(
  answer: (
    prompt: Parameters<Infer>[0],
    options: Parameters<Infer>[1],
  ) => Promise<Inference> | Inference,
  { client, ...changes }: FakeChanges = {},
) {
  const asked: { readonly prompt: Parameters<Infer>[0]; readonly options: Parameters<Infer>[1] }[] =
    []
  const lines: Parameters<GatewayOptions['onAnswered']>[0][] = []
  const ignored: string[] = []
  const stop = new AbortController()
  const app = createGateway({
    client: {
      infer: async (prompt, options) => {
        asked.push({ prompt, options })
        return answer(prompt, options)
      },
      storeKeyAhead: async () => {},
      keysAhead: async () => 0,
      models: async () => [
        { model_id: 'openai:one', nodes: 3 },
        { model_id: 'openai:two', nodes: 5 },
        { model_id: 'anthropic:two', nodes: 1, withdrawn: 2 },
        { model_id: 'anthropic:few', nodes: 2 },
        { model_id: 'ollama:mistral:7b', nodes: 2 },
      ],
      ...client,
    },
    clock: systemClock,
    modelMap: new Map([['best', 'openai:one']]),
    agreement: {},
    atOnce: 2,
    maxWaiting: 2,
    isStrict: false,
    onIgnored: (parameter) => ignored.push(parameter),
    giveUpWhenStuckMs: 1_000,
    origins: new Set(),
    keys: [],
    onAnswered: (line) => lines.push(line),
    stopping: stop.signal,
    ...changes,
  })
  const call = async (path: string, init: RequestInit = {}) =>
    app.fetch(
      new Request(`http://127.0.0.1:8787${path}`, {
        ...init,
        headers: { host: '127.0.0.1:8787', ...(init.headers as Record<string, string>) },
      }),
    )
  const post = (body: unknown, init: RequestInit = {}, path = '/v1/chat/completions') =>
    call(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
      headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
    })
  return { app, asked, ignored, lines, stop, call, post }
}

/** A question to a model, with more about it. */
export const question = (more: object = {}) => ({
  model: 'openai:one',
  messages: [{ role: 'user', content: 'Who?' }],
  ...more,
})
