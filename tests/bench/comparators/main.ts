// npm run bench:comparators [-- OPTIONS]: how often comparators accept honest answers and dishonest ones.
import { comparators } from '../../../lib/comparators/all.ts'
import type { Comparator } from '../../../lib/comparators/comparator.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { benchMade } from './bench-made.ts'
import { benchReal } from './bench-real.ts'
import { writeFindings } from './findings.ts'
import { type Options, readOptions } from './options.ts'
import { progressBar } from './progress.ts'
import { recordFile } from './record-file.ts'

try {
  await bench(readOptions(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof SvcError)) throw error
  process.stderr.write(`${error.message}\n${error.hint}\n`)
  process.exitCode = error.code === 'usage' ? 2 : 1
}

async function bench(options: Options): Promise<void> {
  const { record, model } = options
  if (record !== undefined && model !== undefined) {
    const ended = new AbortController()
    process.once('SIGINT', () => ended.abort(new Error('ended by the user')))
    const lines = await recordFile({ ...options, record, model }, process.env, {
      signal: ended.signal,
      onProgress: progressBar('asking'),
    })
    process.stdout.write(`${lines} lines written to ${record}\n`)
    return
  }
  const chosen = chosenComparators(options.comparators)
  const findings =
    options.pairs === undefined
      ? await benchMade(options, chosen)
      : await benchReal(options.pairs, options.jobs, chosen)
  process.stdout.write(`${findings.text}\n`)
  await writeFindings(findings, options)
}

function chosenComparators(names: string | undefined): Comparator[] {
  const known: readonly Comparator[] = Object.values(comparators)
  if (names === undefined) return [...known]
  return names.split(',').map((name) => {
    const found = known.find(({ id }) => id === name)
    if (found !== undefined) return found
    throw new SvcError('usage', `there is no comparator ${name}`, {
      hint: `There are ${known.map(({ id }) => id).join(', ')}.`,
    })
  })
}
