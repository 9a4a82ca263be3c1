import { appendFile } from 'node:fs/promises'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { createDice } from '../../simulation/dice.ts'
import { drawQuestion } from './made-answer.ts'
import type { Triple } from './pairs-file.ts'

/** What is asked of a provider. */
export type Recording = {
  readonly provider: InferenceProvider
  readonly model: string
  /** A cheaper model whose answers stand for a dishonest leader's. */
  readonly weakerModel?: string | undefined
  readonly prompts: readonly string[]
  readonly maxOutputTokens: number
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (share: number) => void
}

const lengths = [20, 60, 150, 300] as const

/** Prompts that the corpus makes from a seed, for answers of several lengths. */
export function drawPrompts(seed: number, count: number): string[] {
  const dice = createDice(seed)
  return Array.from({ length: count }, () => drawQuestion(dice, dice.pick(lengths)).prompt)
}

/** Asks each prompt three times, and the weaker model once; every question is written to the file once its answers are there. */
export async function record(path: string, recording: Recording): Promise<number> {
  let written = 0
  for (const [index, prompt] of recording.prompts.entries()) {
    const triples = await askAll(recording, prompt)
    await appendFile(path, triples.map((triple) => `${JSON.stringify(triple)}\n`).join(''))
    written += triples.length
    recording.onProgress?.((index + 1) / recording.prompts.length)
  }
  return written
}

async function askAll(recording: Recording, prompt: string): Promise<Triple[]> {
  const { provider, model, weakerModel, maxOutputTokens, signal } = recording
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
