import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { promptOfText } from '../../../lib/prompt.ts'
import { baseUrlVariable } from '../../../lib/providers.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import type { TokenTold } from '../../../lib/teacher.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { findProvider, keyOf } from '../../../node/inference/providers.ts'
import { RecordedQuestion } from './answers-file.ts'
import type { RecordingOptions } from './options.ts'

const maxPromptFileBytes = 16 * 1_048_576
const maxLinesFileBytes = 1_024 * 1_048_576
const maxOutputTokens = 2_048
// Of English text, and of an answer that reasons: guesses to name a cost by.
const charactersOfToken = 4
const usualAnswerTokens = 400

type Environment = Readonly<Record<string, string | undefined>>
type Hooks = {
  readonly signal?: AbortSignal
  readonly onProgress?: (share: number) => void
}

/** What a recording is still to ask. */
export type Recording = {
  readonly provider: InferenceProvider
  readonly prompts: readonly string[]
  /** Of an earlier start. */
  readonly known: ReadonlyMap<string, RecordedQuestion>
}

/** Makes a recording ready, and finds what an earlier start has recorded; throws SvcError `no-key`, `prompts-file` and `answers-file`. */
export async function prepareRecording(
  options: RecordingOptions,
  environment: Environment,
): Promise<Recording> {
  const name = options.provider
  const baseUrl = environment[baseUrlVariable(name)]
  const setting = { ...(baseUrl && { base_url: baseUrl }), allow_http: true }
  const found = findProvider(name, { providers: { [name]: setting } })
  const apiKey = keyOf(found, environment)
  if (found.needsKey && apiKey === undefined) {
    throw new SvcError('no-key', `${found.keyVariable} is not set`, {
      hint: 'Set it to the key of the provider that is to be recorded.',
    })
  }
  const clock = systemClock
  const provider = createOpenAi({ ...found, apiKey, clock, log: { debug: () => {} } })
  const prompts = (await readPrompts(options.prompts)).slice(0, options.questions)
  const known = (await readLines(linesOf(options))).filter(
    ({ runs }) => Object.keys(runs).length === options.runs,
  )
  return { provider, prompts, known: new Map(known.map((question) => [question.q, question])) }
}

/** Each question is a line here, from its last answer on, until all are there. */
const linesOf = ({ record }: RecordingOptions): string => `${record}.lines`

/** What a recording will take, in words, before anything is asked. */
export function costOf(options: RecordingOptions, { provider, prompts, known }: Recording): string {
  const left = prompts.filter((prompt) => !known.has(prompt))
  const answers = options.runs + (options.weakerModel === undefined ? 0 : 1)
  const asked = left.reduce((sum, prompt) => sum + Math.ceil(prompt.length / charactersOfToken), 0)
  const weighs = provider.weigh ? 1 : 0
  const calls = left.length * answers * (1 + weighs)
  const output = left.length * answers * (usualAnswerTokens + weighs)
  const input = asked * answers * (1 + weighs) + left.length * answers * usualAnswerTokens * weighs
  const { priceIn, priceOut } = options
  const money =
    priceIn === undefined || priceOut === undefined
      ? 'give --price-in and --price-out (of a million tokens) to see it in money'
      : `${((input * priceIn + output * priceOut) / 1e6).toFixed(2)} at ${priceIn} and ${priceOut} a million`
  return (
    `${left.length} of ${prompts.length} questions are left: ${calls} calls, about ${input} input and ${output} output tokens ` +
    `(answers of ${usualAnswerTokens}, ${maxOutputTokens} at most): ${money}. ` +
    (weighs
      ? 'Log-probabilities of each answer are kept.'
      : 'This provider tells no log-probabilities.')
  )
}

/**
 * Asks the provider each prompt as often as is wanted, and the weaker model once, and has the model weigh each text where it can. What an earlier
 * start recorded is not asked again. The file holds all questions of which every answer is there, whatever the answers were, so nothing is
 * selected. Resolves with how many questions were written; throws the provider's errors.
 */
export async function record(
  options: RecordingOptions,
  { provider, prompts, known }: Recording,
  { signal, onProgress = () => {} }: Hooks = {},
): Promise<number> {
  const recorded: RecordedQuestion[] = []
  for (const [index, prompt] of prompts.entries()) {
    const earlier = known.get(prompt)
    const question = earlier ?? (await askAll(provider, options, prompt, signal))
    if (!earlier) await appendFile(linesOf(options), `${JSON.stringify(question)}\n`)
    recorded.push(question)
    onProgress((index + 1) / prompts.length)
  }
  await writeFile(options.record, `${JSON.stringify({ [options.model]: recorded })}\n`)
  await rm(linesOf(options), { force: true })
  return recorded.length
}

async function askAll(
  provider: InferenceProvider,
  { model, weakerModel, runs }: RecordingOptions,
  prompt: string,
  signal: AbortSignal | undefined,
): Promise<RecordedQuestion> {
  const asked = { prompt: promptOfText(prompt), ...(signal && { signal }) }
  const ask = async (of: string) => {
    const { text } = await provider.complete({ ...asked, model: of, maxOutputTokens })
    return { text, told: await provider.weigh?.({ ...asked, model, text }) }
  }
  const answers = Object.fromEntries(
    (await Promise.all(Array.from({ length: runs }, () => ask(model)))).entries(),
  )
  const weaker = weakerModel === undefined ? {} : { [weakerModel]: await ask(weakerModel) }
  const all = Object.entries({ ...answers, ...weaker })
  const told = all.flatMap(([name, { told: of }]) => (of ? [[name, of.map(rowOf)] as const] : []))
  const textsOf = (of: Readonly<Record<string, { readonly text: string }>>) =>
    Object.fromEntries(Object.entries(of).map(([name, { text }]) => [name, text]))
  return {
    q: prompt,
    runs: textsOf(answers),
    weak: textsOf(weaker),
    ...(told.length > 0 && { told: Object.fromEntries(told) }),
  }
}

/** Returns the form in which a token is recorded. */
export const rowOf = ({ logprob, top }: TokenTold) => ({
  logprob,
  top: top.map(({ token, logprob }): [string, number] => [token, logprob]),
})

async function readPrompts(path: string): Promise<string[]> {
  const { size } = await stat(path)
  if (size > maxPromptFileBytes) {
    throw new SvcError('prompts-file', `${path} is longer than ${maxPromptFileBytes} bytes`, {
      hint: 'Take fewer or shorter prompts.',
    })
  }
  const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '')
}

/** What an earlier start recorded. A last line that it was still writing is left out. */
async function readLines(path: string): Promise<readonly RecordedQuestion[]> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size === 0) return []
  if (size > maxLinesFileBytes) {
    throw new SvcError('answers-file', `${path} is longer than ${maxLinesFileBytes} bytes`, {
      hint: 'Move it away to record anew.',
    })
  }
  const text = await readFile(path, 'utf8')
  // A line without its end would join the next one.
  if (!text.endsWith('\n')) await writeFile(path, text.slice(0, text.lastIndexOf('\n') + 1))
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => RecordedQuestion.parse(JSON.parse(line)))
}
