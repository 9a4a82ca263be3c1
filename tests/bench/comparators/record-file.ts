import { readFile, stat } from 'node:fs/promises'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { keyVariables } from '../../../node/inference/provider-call.ts'
import type { Options } from './options.ts'
import { drawPrompts, record } from './record.ts'

const maxPromptFileBytes = 16 * 1_048_576
const maxOutputTokens = 2_048

/** Asks the provider of the environment and appends its answers to the file; resolves with how many lines were written. */
export async function recordFile(
  options: Options & { readonly record: string; readonly model: string },
  environment: Readonly<Record<string, string | undefined>>,
  hooks: { readonly signal?: AbortSignal; readonly onProgress?: (share: number) => void } = {},
): Promise<number> {
  const apiKey = environment[keyVariables.openai]
  if (apiKey === undefined || apiKey === '') {
    throw new SvcError('no-key', `${keyVariables.openai} is not set`, {
      hint: 'Set it to the key of the provider that is to be recorded.',
    })
  }
  const provider = createOpenAi({
    apiKey,
    baseUrl: environment.SVC_OPENAI_BASE_URL,
    clock: systemClock,
    log: { debug: () => {} },
  })
  const prompts =
    options.prompts === undefined
      ? drawPrompts(options.seed, options.questions)
      : (await readPrompts(options.prompts)).slice(0, options.questions)
  return record(options.record, {
    provider,
    model: options.model,
    weakerModel: options['weaker-model'],
    prompts,
    maxOutputTokens,
    signal: hooks.signal,
    ...(hooks.onProgress && { onProgress: hooks.onProgress }),
  })
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
