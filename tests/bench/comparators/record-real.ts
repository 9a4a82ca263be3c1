// Records a real model's texts on unlike processors, those of its copies, and how likely each is on each processor.
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createProcesses } from '../../../demo/processes.ts'
import { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { findProvider } from '../../../node/inference/providers.ts'
import { type RecordedAnswers, type RecordedQuestion, readAnswers } from './answers-file.ts'
import { copies, installModels, realName, startModel, type Weights } from './real-models.ts'
import { rowOf } from './record.ts'

/** The set of texts as a level and weights score them. */
export const setOf = (level: string, weights: Weights): string => `${level} ${weights}`

/** Returns the processor levels of a recording, in the order of its runs. */
export const levelsOf = (sets: RecordedAnswers): readonly string[] =>
  Object.keys(sets).flatMap((name) => {
    const [level, weights] = name.split(' ')
    return level !== undefined && weights === 'Q4_1' ? [level] : []
  })

/** Copies that a lazy checker asks in place of the model. */
export const checkers = ['Q8_0', 'Q5_0', 'Q4_0'] as const satisfies readonly Weights[]

type Question = { -readonly [Field in keyof RecordedQuestion]: RecordedQuestion[Field] }

/** Returns the conversation of a line: one prompt, or `ROLE: TEXT` for each message, divided by `|`. */
export function promptOfLine(line: string): PromptDocument {
  const messages = /^(system|user): /.test(line)
    ? line.split('|').map((one) => {
        const [role, ...content] = one.split(': ')
        return { role, content: content.join(': ') }
      })
    : [{ role: 'user', content: line }]
  return PromptDocument.parse({ version: 1, messages })
}

/**
 * Asks each level and copy for each prompt, then has the levels and copies score the texts: those of honest levels by all, those of copies by
 * the honest ones. The file is written after each of them, so a second start continues.
 */
export async function recordReal(
  file: string,
  options: {
    readonly questions: number
    /** The most of an answer. */
    readonly tokens: number
    /** Processor levels of the library. The copies run on the second. */
    readonly levels: readonly [string, string, ...string[]]
  },
  tell: (line: string) => void,
): Promise<void> {
  const { questions, tokens, levels } = options
  const files = await installModels()
  const folder = await mkdtemp(join(tmpdir(), 'svc-record-real-'))
  const processes = createProcesses(folder)
  const text = await readFile(join(import.meta.dirname, 'real-prompts.txt'), 'utf8')
  const lines = text.trim().split('\n').slice(0, questions)
  const sets: RecordedAnswers = existsSync(file) ? await readAnswers(file) : {}
  const honest = levels.map((level) => ({ level, weights: 'Q4_1' as const }))
  const others = copies.map((weights) => ({ level: levels[1], weights }))
  const first: Question[] =
    sets[setOf(levels[0], 'Q4_1')] ?? lines.map((q) => ({ q, runs: {}, weak: {} }))
  sets[setOf(levels[0], 'Q4_1')] = first
  const each = async (
    { level, weights }: { readonly level: string; readonly weights: Weights },
    todo: string,
    body: (provider: InferenceProvider, q: string, at: number) => Promise<void>,
  ) => {
    const { url, stop } = await startModel(processes, files, {
      ...{ level, weights, name: `${level}-${weights}-${todo}` },
    })
    const setting = { providers: { vllm: { base_url: `${url}/v1`, allow_http: true } } }
    const provider = createOpenAi({
      ...findProvider('vllm', setting),
      ...{ apiKey: undefined, clock: systemClock, log: { debug: () => {} } },
    })
    for (const [at, q] of lines.entries()) {
      await body(provider, q, at)
      tell(`${level} ${weights}, ${todo}: ${at + 1} of ${lines.length}`)
    }
    await stop()
    await writeFile(file, gzipSync(JSON.stringify(sets)))
  }
  try {
    for (const [at, by] of [...honest, ...others].entries()) {
      const [where, name] =
        at < honest.length ? (['runs', String(at)] as const) : (['weak', by.weights] as const)
      if (first.every((question) => question[where][name] !== undefined)) continue
      await each(by, 'answers', async (provider, q, at) => {
        const { text } = await provider.complete({
          ...{ model: realName, prompt: promptOfLine(q), maxOutputTokens: tokens },
        })
        first[at]![where][name] = text
      })
    }
    for (const by of [...honest, ...checkers.map((weights) => ({ level: levels[1], weights }))]) {
      const set = sets[setOf(by.level, by.weights)] ?? first.map(({ told: _, ...rest }) => rest)
      sets[setOf(by.level, by.weights)] = set
      await each(by, 'scores', async (provider, q, at) => {
        const question = set[at] as Question
        const told = { ...question.told }
        const weak = by.weights === 'Q4_1' ? question.weak : {}
        for (const [name, text] of Object.entries({ ...question.runs, ...weak })) {
          told[name] ??= (
            (await provider.weigh?.({ model: realName, prompt: promptOfLine(q), text })) ?? []
          ).map(rowOf)
        }
        question.told = told
      })
    }
  } finally {
    await processes.close()
    await rm(folder, { recursive: true, force: true })
  }
}
