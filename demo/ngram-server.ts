import { z } from 'zod'
import { OneOf, option, WholeNumber } from '../lib/host/program/option.ts'
import { runOnly } from '../lib/host/program/run-program.ts'
import type { TokenTold } from '../lib/teacher.ts'
import {
  answerOf,
  type NgramModel,
  type Run,
  tokensOf,
  trainingText,
  trainNgrams,
  weighed,
} from './ngram-model.ts'

/**
 * The source of the answers. The honest model weighs given texts. With `lazy`, the first node that asks for numbers gets made-up
 * ones each time, as from a node that asks no model: every token is the likeliest.
 */
export const answerKinds = ['honest', 'substituted', 'quantized', 'spliced', 'lazy'] as const
export type AnswerKind = (typeof answerKinds)[number]

/** The served model, and the one that replaces it. */
export type Models = { readonly honest: NgramModel; readonly substitute: NgramModel }

const mostAnswerTokens = 160

export async function trainModels(): Promise<Models> {
  const text = await trainingText()
  return { honest: trainNgrams(text, 4), substitute: trainNgrams(text, 3) }
}

/** Returns an answer of one kind: of the model, of its substitute, of its rounded weights, or half of each of the first two. */
export function answerOfKind(
  { honest, substitute }: Models,
  kind: AnswerKind,
  run: Run,
  prompt: string,
  length: number,
): readonly string[] {
  switch (kind) {
    case 'honest':
    case 'lazy':
      return answerOf(honest, run, prompt, length)
    case 'substituted':
      return answerOf(substitute, run, prompt, length)
    case 'quantized':
      return answerOf(honest, { ...run, step: 0.5 }, prompt, length)
    case 'spliced': {
      const begun = answerOf(honest, run, prompt, Math.ceil(length / 2))
      return answerOf(substitute, run, prompt, length, begun)
    }
  }
}

type Ask = {
  readonly model?: unknown
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
  readonly max_tokens?: unknown
  readonly prompt_logprobs?: unknown
  readonly echo?: unknown
}

/** The tokens of a chat template around a conversation. */
const template = { before: ['<|user|>'], between: ['<|assistant|>'], after: ['<|end|>'] }

type Served = {
  readonly models: Models
  readonly kind: AnswerKind
  /** The noise between runs, in nats. */
  readonly noise: number
}

/** Serves OpenAI's protocol, with vLLM's `prompt_logprobs` and with `echo`. The API key is the name of the run. */
export function createNgrams(served: Served): (request: Request) => Promise<Response> {
  const lazy: Lazy = { name: undefined }
  return (request) => serve(request, served, lazy)
}

/** The run that asked first for numbers. */
type Lazy = { name: string | undefined }

async function serve(
  request: Request,
  { models, kind, noise }: Served,
  lazy: Lazy,
): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (request.method === 'GET' && pathname === '/v1/models') {
    return Response.json({ object: 'list', data: [{ id: 'ngram', object: 'model' }] })
  }
  if (request.method !== 'POST' || pathname !== '/v1/chat/completions') {
    return refused(404, `There is nothing at ${request.method} ${pathname}`)
  }
  const ask = (await request.json().catch(() => ({}))) as Ask
  const { messages = [], max_tokens: most = mostAnswerTokens } = ask
  if (ask.model !== 'ngram') return refused(404, `There is no model ${ask.model}`)
  const prompt = textOf(messages.findLast(({ role }) => role === 'user')?.content)
  const run = { name: request.headers.get('authorization') ?? 'nobody', noise }
  const given = ask.prompt_logprobs === undefined && ask.echo !== true ? undefined : messages.at(-1)
  if (given === undefined) {
    const length = Math.min(Number(most), mostAnswerTokens)
    // Counts are often equal, so with noise no two nodes would give the same answer.
    const quiet = { ...run, noise: 0 }
    return completed(answerOfKind(models, kind, quiet, prompt, length).join(''))
  }
  if (given.role !== 'assistant') return refused(400, 'There is no answer to weigh')
  const text = textOf(given.content)
  const answer = tokensOf(text)
  lazy.name ??= run.name
  const isLazy = kind === 'lazy' && lazy.name === run.name
  const told = isLazy ? madeUp(answer) : weighed(models.honest, run, prompt, answer)
  const tokens = [
    ...[...template.before, ...tokensOf(prompt), ...template.between].map((token) => ({ token })),
    ...answer.map((token, at) => ({ token, ...told[at] })),
    ...template.after.map((token) => ({ token })),
  ]
  const usage = { prompt_tokens: tokens.length, completion_tokens: 1 }
  return completed('', ask.echo === true ? echoed(tokens) : promptLogprobs(tokens), usage)
}

/** Returns made-up numbers for a text, as a node without a model could. */
const madeUp = (answer: readonly string[]): readonly TokenTold[] =>
  answer.map((token) => ({
    logprob: -0.01,
    top: [...new Set([token, ' a', ' of', ' in', '.'])].map((one, rank) => ({
      token: one,
      logprob: -0.01 - 2 * rank,
    })),
  }))

type Told = { readonly token: string; readonly logprob?: number; readonly top?: Tops }
type Tops = readonly { readonly token: string; readonly logprob: number }[]

const textOf = (content: unknown): string => (typeof content === 'string' ? content : '')

const refused = (status: number, message: string) =>
  Response.json({ error: { type: 'invalid_request_error', message } }, { status })

const completed = (
  content: string,
  more: { readonly choice?: object; readonly top?: object } = {},
  usage?: object,
) =>
  Response.json({
    id: 'chatcmpl-ngram',
    object: 'chat.completion',
    created: 0,
    model: 'ngram',
    choices: [
      { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', ...more.choice },
    ],
    ...more.top,
    ...(usage && { usage }),
  })

const echoed = (tokens: readonly Told[]) => ({
  choice: {
    logprobs: {
      tokens: tokens.map(({ token }) => token),
      token_logprobs: tokens.map(({ logprob = -1 }, at) => (at === 0 ? null : logprob)),
      top_logprobs: tokens.map(({ token, top = [{ token, logprob: -1 }] }, at) =>
        at === 0
          ? null
          : Object.fromEntries(top.map(({ token, logprob }) => [token, logprob] as const)),
      ),
    },
  },
})

/** vLLM's form: for each place, an object by token id. The ids here are numbered in the order of first use. */
function promptLogprobs(tokens: readonly Told[]) {
  const ids = new Map<string, number>()
  const idOf = (token: string): number => {
    const id = ids.get(token) ?? ids.size
    ids.set(token, id)
    return id
  }
  const places = tokens.map(({ token, logprob = -1, top = [] }, at) =>
    at === 0
      ? null
      : Object.fromEntries(
          [{ token, logprob }, ...top].map((one, rank) => [
            idOf(one.token),
            { logprob: one.logprob, rank, decoded_token: one.token },
          ]),
        ),
  )
  const prompt_token_ids = tokens.map(({ token }) => idOf(token))
  return { top: { prompt_logprobs: places, prompt_token_ids } }
}

if (import.meta.main) {
  await runOnly('bun demo/ngram-server.ts', {
    summary: 'Serve answers of a small n-gram model.',
    options: z.object({
      port: option(WholeNumber(0, 65_535).default(0), 'N', 'Where to listen. 0: any free port'),
      answers: option(OneOf(answerKinds).default('honest'), 'KIND', 'Their source'),
    }),
    run: async ({ port, answers }, { print }) => {
      const fetch = createNgrams({ models: await trainModels(), kind: answers, noise: 0.02 })
      const server = Bun.serve({ hostname: '127.0.0.1', port, fetch })
      print(`A small n-gram model (${answers} answers) at ${server.url.origin}`)
      return await new Promise(() => {})
    },
  })
}
