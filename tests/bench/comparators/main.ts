import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { ComparatorId, defaultComparator } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import { option, WholeNumber } from '../../../lib/host/program/option.ts'
import { command } from '../../../lib/host/program/program.ts'
import { type Lines, runHere } from '../../../lib/host/program/run-program.ts'
import { AgreementRule } from '../../../lib/schemas/terms.ts'
import { print } from '../../run-program.ts'
import { readAnswers } from './answers-file.ts'
import { figuresOf } from './figures.ts'
import { File, Name, recordingArgs, recordingOptions } from './options.ts'
import { realText } from './real.ts'
import { costOf, prepareRecording, record } from './record.ts'
import { recordReal } from './record-real.ts'
import { textOf } from './tables.ts'
import { recordedTeacher } from './teacher.ts'

/** The file of recorded answers that a command reads. */
const answersArgs = z.object({ answers: option(File, 'FILE', 'JSON, .gz too') })

const legend = `Shares in %, with 95 % intervals in brackets (bootstrap over questions; Wilson where nothing or everything matched), on all questions.
Runs that were not recorded count as copies of recorded ones (docs/comparators.md); in parentheses, as matching nothing and as matching everything.
`

const realParts = [
  ['Each other question:', { step: 2 }],
  ['The other half:', { from: 1, step: 2 }],
  ['All questions:', {}],
] as const

const onProgress = (share: number) => {
  if (process.stderr.isTTY) process.stderr.write(`\r${(100 * share).toFixed(0)} % `)
}

const measure = command({
  name: 'measure',
  summary: 'Measure recorded answers',
  args: answersArgs,
  options: z.object({
    comparator: option(ComparatorId.default(defaultComparator), 'NAME', 'The rule of likeness'),
    keys: option(WholeNumber(1, 100).default(2), 'N', 'Keys under which each question is measured'),
    figures: option(File.optional(), 'FILE', 'Also write all figures there, as JSON'),
  }),
  run: async ({ answers, comparator: id, keys, figures: file }) => {
    const comparator = comparators[id]
    const sets = await readAnswers(answers)
    print(`${comparator.id}, ${keys} keys a question\n${legend}`)
    const all = []
    for (const [name, questions] of Object.entries(sets)) {
      const figures = await figuresOf(name, questions, comparator, keys, onProgress)
      print(textOf(figures))
      const told = await recordedTeacher(questions)
      if (told !== undefined) print(told)
      all.push(figures)
    }
    if (file !== undefined) {
      await writeFile(file, `${JSON.stringify({ comparator: comparator.id, sets: all })}\n`)
    }
  },
})

const real = command({
  name: 'real',
  summary:
    'Print how often the rule of likelihood is right about a recording of the real model, by number of tokens',
  args: answersArgs,
  options: z.object({
    seats: option(
      z
        .string()
        .max(500)
        .transform((names) => names.split(','))
        .optional(),
      'SEATS',
      'Ask through the whole service, with a node for each seat (separated by commas), a level or a copy such as Q4_0, which replays the recording, and print what came of the nodes',
    ),
    prompts: option(WholeNumber(1, 1_000).default(40), 'N', 'How many prompts those nodes get'),
    rule: option(AgreementRule.default('three'), 'RULE', 'The rule of agreement'),
  }),
  run: async ({ answers, seats, ...options }, { warn }: Lines) => {
    const sets = await readAnswers(answers)
    if (seats) {
      const { askUnlike } = await import('./unlike.ts')
      print(await askUnlike(sets, { ...options, seats }, warn))
      return 0
    }
    for (const [which, part] of realParts) print(`${which}\n${await realText(sets, part)}`)
    return 0
  },
})

const realRecord = command({
  name: 'record-real',
  summary:
    "Install the demo's real model and record what it writes on unlike processors, what its requantized copies write, and how likely each text is",
  args: z.object({ file: option(File.endsWith('.gz'), 'FILE.gz') }),
  options: z.object({
    questions: option(WholeNumber(1, 1_000).default(96), 'N', 'The first N of real-prompts.txt'),
    tokens: option(WholeNumber(1, 1_024).default(192), 'N', 'Tokens of an answer, at most'),
    levels: option(
      z
        .string()
        .max(200)
        .default('haswell,icelake,sandybridge')
        .transform((names) => names.split(','))
        .pipe(z.tuple([Name, Name], Name)),
      'LEVELS',
      'Processor levels, separated by commas: AVX2, AVX-512, AVX; sapphirerapids has AMX',
    ),
  }),
  notes: 'A second start continues.',
  run: async ({ file, ...options }, { warn }: Lines) => {
    await recordReal(file, options, warn)
  },
})

const providerRecord = command({
  name: 'record',
  summary:
    'Say what a recording of a provider costs, and with --yes make it: every run of every question, with log-probabilities where it has them (fireworks, vllm)',
  args: recordingArgs,
  options: recordingOptions,
  notes: 'A second start continues.',
  run: async (given) => {
    const ended = new AbortController()
    process.once('SIGINT', () => ended.abort(new Error('ended by the user')))
    const recording = await prepareRecording(given, process.env)
    print(costOf(given, recording))
    if (!given.yes) {
      print('The provider was not asked: add --yes to start.')
      return 0
    }
    const questions = await record(given, recording, { signal: ended.signal, onProgress })
    print(`${questions} questions written to ${given.record}`)
    return 0
  },
})

await runHere(
  {
    typed: 'npm run bench:comparators --',
    about:
      'Record answers of a provider, and measure how often agreement accepts honest ones, those of a weaker model and the lies of a ring.',
    commands: [measure, real, realRecord, providerRecord],
  },
  (lines) => lines,
)
