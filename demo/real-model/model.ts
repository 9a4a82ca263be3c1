/*
 * Problem: the same weights and prompt must give the same text each time, and the log-probabilities of a given text must be those with which
 * the same build would have written it. A prompt cache or another size of batch changes the numbers a little, and so the text.
 * Idea: forget all tokens before each request, read a prompt in one call, then one token at a time, whether the model chose it or it is
 * part of a given text. (Already two tokens in one batch get other numbers on some processors.)
 * Invariants: the likeliest token is chosen. The number of threads changes nothing. One request runs at a time: the caller sees to that.
 * Failure cases: a text is split into tokens anew when it is weighed. If the model wrote it with other tokens, a token may look unlikely. A
 * token that ends within a character has no text of its own: its text belongs to the token that completes the character.
 */

import type { TokenTold } from '../../lib/teacher.ts'
import { type Library, libraryIn } from './library.ts'

/** A message of a conversation. */
type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

/** A token of a weighed text, with its number in the vocabulary. */
type Weighed = TokenTold & {
  readonly id: number
  readonly token: string
  readonly top: readonly { readonly id: number; readonly token: string; readonly logprob: number }[]
}

/** A finished answer. */
export type Answered = {
  readonly text: string
  readonly promptTokens: number
  readonly answerTokens: number
  /** `length` when it was cut at the limit of tokens or of the context. */
  readonly finish: 'stop' | 'length'
}

/** A loaded model. It does one thing at a time. Aborting `signal` rejects with its reason before the next tokens. */
export type RealModel = {
  /** Writes the likeliest answer. Calls `onText` with each piece. Throws ContextExceeded. */
  readonly answer: (
    messages: readonly Message[],
    limits: {
      readonly maxTokens: number
      readonly onText?: (piece: string) => void
      readonly signal?: AbortSignal
    },
  ) => Promise<Answered>
  /** Returns natural log-probabilities of each token of a given answer, and the prompt's tokens. Throws ContextExceeded. */
  readonly weigh: (
    messages: readonly Message[],
    text: string,
    signal?: AbortSignal,
  ) => Promise<{ readonly prompt: readonly number[]; readonly told: readonly Weighed[] }>
}

/** A prompt, or a prompt with its text, is longer than the context. */
export class ContextExceeded extends Error {
  constructor(tokens: number, size: number) {
    super(`The maximum context length is ${size} tokens, and the request has ${tokens}`)
  }
}

const contextSize = 2_048
const promptBatch = 512
const tokensTold = 5

/** Loads weights (a GGUF file of a ChatML model) with the library in `folder`. Throws when the processor cannot run the level `cpu`. */
export async function loadModel(options: {
  /** The folder whose node_modules has the library. */
  readonly folder: string
  readonly weights: string
  /** A processor level of the library, such as `haswell` (AVX2). By default the library chooses the best. */
  readonly cpu?: string | undefined
  readonly threads?: number
}): Promise<RealModel> {
  const { folder, weights, cpu, threads = 1 } = options
  const { getLlama } = await libraryIn(folder, cpu)
  const offline = { build: 'never', skipDownload: true } as const
  const llama = await getLlama({ ...offline, gpu: false, logLevel: 'error', maxThreads: threads })
  const model = await llama.loadModel({ modelPath: weights, gpuLayers: 0 })
  const context = await model.createContext({
    ...{ contextSize, batchSize: promptBatch, sequences: 1, threads, flashAttention: false },
  })
  return modelOf(model, context.getSequence())
}

type Model = Library['model']
type Sequence = Library['sequence']

function modelOf(model: Model, sequence: Sequence): RealModel {
  const tokensOf = chatTokens(model)

  /** Reads tokens after those that it has read. Returns the output after the last. */
  const read = async (tokens: readonly number[], wanted: object) => {
    const last = tokens.length - 1
    const generateNext = { ...wanted, options: { temperature: 0 } }
    const outputs = await sequence.controlledEvaluate(
      tokens.map((token, at) => (at === last ? ([token, { generateNext }] as const) : token)),
    )
    return outputs[last]?.next ?? {}
  }

  return {
    answer: async (messages, { maxTokens, onText, signal }) => {
      const prompt = tokensOf(messages)
      if (prompt.length >= contextSize) throw new ContextExceeded(prompt.length, contextSize)
      const most = Math.min(maxTokens, contextSize - prompt.length)
      await sequence.clearHistory()
      const written: number[] = []
      let text = ''
      let next = await read(prompt, { token: true })
      for (;;) {
        signal?.throwIfAborted()
        const token = next.token ?? undefined
        const isEnd = token === undefined || model.isEogToken(token)
        if (!isEnd) written.push(token)
        const finish = isEnd ? 'stop' : written.length >= most ? 'length' : undefined
        // The last character may not be complete.
        const whole = model.detokenize(written).replace(/\ufffd+$/, '')
        if (whole.length > text.length) onText?.(whole.slice(text.length))
        text = whole
        if (finish !== undefined) {
          return { text, promptTokens: prompt.length, answerTokens: written.length, finish }
        }
        next = await read(written.slice(-1), { token: true })
      }
    },
    weigh: async (messages, text, signal) => {
      const prompt = tokensOf(messages)
      const tokens = model.tokenize(text)
      const length = prompt.length + tokens.length
      if (length > contextSize) throw new ContextExceeded(length, contextSize)
      await sequence.clearHistory()
      const names = textOfEach(model, tokens)
      const told: Weighed[] = []
      let before = prompt
      for (const [at, id] of tokens.entries()) {
        signal?.throwIfAborted()
        const { probabilities = new Map() } = await read(before, { probabilities: true })
        told.push(weighed(model, { id, token: names[at] ?? '' }, probabilities))
        before = [id]
      }
      return { prompt, told }
    },
  }
}

/** Returns how a conversation is split into tokens, to the place where the answer begins. Throws for weights without ChatML. */
function chatTokens(model: Model) {
  const [start, end] = ['<|im_start|>', '<|im_end|>'].map((name) => {
    const [token, ...more] = model.tokenize(name, true)
    if (token !== undefined && more.length === 0) return token
    throw new Error(`The weights have no token ${name}: take those of a ChatML model`)
  }) as [number, number]
  const system = {
    role: 'system',
    content: 'You are a helpful AI assistant named SmolLM, trained by Hugging Face',
  } as const
  const newLine = model.tokenize('\n')
  return (messages: readonly Message[]): readonly number[] => [
    ...[...(messages[0]?.role === 'system' ? [] : [system]), ...messages].flatMap(
      ({ role, content }) => [start, ...model.tokenize(`${role}\n${content}`), end, ...newLine],
    ),
    start,
    ...model.tokenize('assistant\n'),
  ]
}

/** Returns each token's part of a text. The parts join to the text. */
function textOfEach(model: Model, tokens: readonly number[]): readonly string[] {
  const ends = tokens.map((_, at) => {
    const whole = model.detokenize(tokens.slice(0, at + 1))
    return at === tokens.length - 1 ? whole : whole.replace(/\ufffd+$/, '')
  })
  return ends.map((whole, at) => whole.slice(ends[at - 1]?.length ?? 0))
}

const leastProbability = 1e-38

/** Returns a token's log-probability and the likeliest tokens in its place. `probabilities` is ordered, and its sum only nearly 1. */
function weighed(
  model: Model,
  own: Pick<Weighed, 'id' | 'token'>,
  probabilities: ReadonlyMap<number, number>,
): Weighed {
  let total = 0
  for (const probability of probabilities.values()) total += probability
  const logprobOf = (id: number) =>
    Math.log(Math.max(probabilities.get(id) ?? 0, leastProbability) / total)
  const top = [...probabilities.keys()].slice(0, tokensTold).map((id) => ({
    ...{ id, token: id === own.id ? own.token : model.detokenize([id]) },
    logprob: logprobOf(id),
  }))
  return { ...own, logprob: logprobOf(own.id), top }
}
