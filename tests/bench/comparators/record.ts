import { appendFile, readFile, stat } from 'node:fs/promises'
import { baseUrlVariable } from '../../../lib/providers.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { findProvider, keyOf } from '../../../node/inference/providers.ts'
import type { RecordingOptions } from './options.ts'
import type { Triple } from './pairs-file.ts'

const maxPromptFileBytes = 16 * 1_048_576
const maxOutputTokens = 2_048

type Hooks = {
  readonly signal?: AbortSignal
  readonly onProgress?: (share: number) => void
}

/**
 * Asks the provider of the environment each prompt three times, and the weaker model once; a question is appended to the file once
 * all its answers are there. Resolves with how many lines were written; throws SvcError `no-key` and `prompts-file`, and the
 * provider's errors.
 */
export async function record(
  options: RecordingOptions,
  environment: Readonly<Record<string, string | undefined>>,
  { signal, onProgress = () => {} }: Hooks = {},
): Promise<number> {
  const baseUrl = environment[baseUrlVariable('openai')]
  const setting = { base_url: baseUrl, allow_http: true }
  const openai = findProvider('openai', { providers: { openai: setting } })
  const apiKey = keyOf(openai, environment)
  if (apiKey === undefined) {
    throw new SvcError('no-key', `${openai.keyVariable} is not set`, {
      hint: 'Set it to the key of the provider that is to be recorded.',
    })
  }
  const provider = createOpenAi({
    ...openai,
    apiKey,
    clock: systemClock,
    log: { debug: () => {} },
  })
  const prompts = (await readPrompts(options.prompts)).slice(0, options.questions)
  let written = 0
  for (const [index, prompt] of prompts.entries()) {
    const triples = await askAll(provider, options, prompt, signal)
    await appendFile(options.record, triples.map((one) => `${JSON.stringify(one)}\n`).join(''))
    written += triples.length
    onProgress((index + 1) / prompts.length)
  }
  return written
}

async function askAll(
  provider: InferenceProvider,
  { model, 'weaker-model': weakerModel }: RecordingOptions,
  prompt: string,
  signal: AbortSignal | undefined,
): Promise<Triple[]> {
  const ask = (of: string) =>
    provider.complete({ model: of, prompt, maxOutputTokens, ...(signal && { signal }) })
  const [l, v1, v2, weaker] = await Promise.all([
    ask(model),
    ask(model),
    ask(model),
    weakerModel === undefined ? undefined : ask(weakerModel),
  ])
  const honest: Triple = { name: model, kind: 'H', q: prompt, p: prompt, l, v1, v2 }
  return weaker === undefined ? [honest] : [honest, { ...honest, kind: 'D', l: weaker }]
}

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
