// npm run bench:comparators -- OPTIONS: records answers of a provider, and measures how often agreement accepts honest ones, a weaker model's and a ring's lies.
import { writeFile } from 'node:fs/promises'
import { comparators } from '../../../lib/comparators/all.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { readAnswers } from './answers-file.ts'
import { figuresOf } from './figures.ts'
import { readOptions } from './options.ts'
import { realText } from './real.ts'
import { costOf, prepareRecording, record } from './record.ts'
import { recordReal } from './record-real.ts'
import { textOf } from './tables.ts'
import { recordedTeacher } from './teacher.ts'

const legend = `Shares in %, with 95 % intervals in brackets (bootstrap over questions; Wilson where nothing or everything matched), on all questions.
Runs that were not recorded count as copies of recorded ones (docs/comparators.md); in parentheses, as matching nothing and as matching everything.
`

const realParts = [
  ['Each other question:', { step: 2 }],
  ['The other half:', { from: 1, step: 2 }],
  ['All questions:', {}],
] as const

try {
  await bench()
} catch (error) {
  if (!(error instanceof SvcError)) throw error
  process.stderr.write(`${error.message}\n${error.hint}\n`)
  process.exitCode = error.code === 'usage' ? 2 : 1
}

async function bench(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  const onProgress = (share: number) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${(100 * share).toFixed(0)} % `)
  }
  if ('record' in options) {
    const ended = new AbortController()
    process.once('SIGINT', () => ended.abort(new Error('ended by the user')))
    const recording = await prepareRecording(options, process.env)
    process.stdout.write(`${costOf(options, recording)}\n`)
    if (!options.yes) {
      process.stdout.write('Nothing was asked: add --yes to start.\n')
      return
    }
    const questions = await record(options, recording, { signal: ended.signal, onProgress })
    process.stdout.write(`${questions} questions written to ${options.record}\n`)
    return
  }
  if ('record-real' in options) {
    await recordReal(options['record-real'], options, (line) => process.stderr.write(`${line}\n`))
    return
  }
  if ('real' in options) {
    const sets = await readAnswers(options.real)
    if (options.seats) {
      const { seats } = options
      const { askUnlike } = await import('./unlike.ts')
      const told = (line: string) => process.stderr.write(`${line}\n`)
      process.stdout.write(await askUnlike(sets, { ...options, seats }, told))
      process.exit()
    }
    for (const [which, part] of realParts) {
      process.stdout.write(`${which}\n${await realText(sets, part)}\n`)
    }
    return
  }
  const comparator = comparators[options.comparator]
  const sets = await readAnswers(options.answers)
  process.stdout.write(`${comparator.id}, ${options.keys} keys a question\n${legend}`)
  const all = []
  for (const [name, questions] of Object.entries(sets)) {
    const figures = await figuresOf(name, questions, comparator, options.keys, onProgress)
    process.stdout.write(`\n${textOf(figures)}`)
    const told = await recordedTeacher(questions)
    if (told !== undefined) process.stdout.write(`${told}\n`)
    all.push(figures)
  }
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify({ comparator: comparator.id, sets: all })}\n`)
  }
}
