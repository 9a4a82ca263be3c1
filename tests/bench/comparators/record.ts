import { readFile, stat, writeFile } from 'node:fs/promises'
import { promptOfText } from '../../../lib/prompt.ts'
import { baseUrlVariable } from '../../../lib/providers.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { findProvider, keyOf } from '../../../node/inference/providers.ts'
import type { RecordedQuestion } from './answers-file.ts'
import type { RecordingOptions } from './options.ts'

const maxPromptFileBytes = 16 * 1_048_576
const maxOutputTokens = 2_048

type Hooks = {
  readonly signal?: AbortSignal
  readonly onProgress?: (share: number) => void
}

/**
 * Asks the provider of the environment each prompt as often as is wanted, and the weaker model once. The file holds all questions of which every
 * answer is there, whatever the answers were, so nothing is selected. Resolves with how many questions were written; throws SvcError `no-key` and
 * `prompts-file`, and the provider's errors.
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
  const recorded: RecordedQuestion[] = []
  for (const [index, prompt] of prompts.entries()) {
    recorded.push(await askAll(provider, options, prompt, signal))
    await writeFile(options.record, `${JSON.stringify({ [options.model]: recorded })}\n`)
    onProgress((index + 1) / prompts.length)
  }
  return recorded.length
}

async function askAll(
  provider: InferenceProvider,
  { model, 'weaker-model': weakerModel, runs }: RecordingOptions,
  prompt: string,
  signal: AbortSignal | undefined,
): Promise<RecordedQuestion> {
  const ask = (of: string) =>
    provider.complete({
      model: of,
      prompt: promptOfText(prompt),
      maxOutputTokens,
      ...(signal && { signal }),
    })
  const answers = await Promise.all(Array.from({ length: runs }, () => ask(model)))
  return {
    q: prompt,
    runs: Object.fromEntries(answers.entries()),
    weak: weakerModel === undefined ? {} : { [weakerModel]: await ask(weakerModel) },
  }
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
