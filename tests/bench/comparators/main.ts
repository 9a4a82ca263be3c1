// npm run bench:comparators -- OPTIONS: records answers of a provider, and measures how often comparators accept honest ones and a weaker model's.
import { writeFile } from 'node:fs/promises'
import { SvcError } from '../../../lib/svc-error.ts'
import { measure } from './measure.ts'
import { readOptions } from './options.ts'
import { readTriples } from './pairs-file.ts'
import { record } from './record.ts'
import { tablesOf, textOf } from './tables.ts'

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
    if (process.stderr.isTTY) process.stderr.write(`\r${(100 * share).toFixed(0)} %`)
  }
  if ('record' in options) {
    const ended = new AbortController()
    process.once('SIGINT', () => ended.abort(new Error('ended by the user')))
    const lines = await record(options, process.env, { signal: ended.signal, onProgress })
    process.stdout.write(`\n${lines} lines written to ${options.record}\n`)
    return
  }
  const triples = await readTriples(options.pairs)
  const tables = tablesOf(await measure(triples, options.comparators, options.jobs, onProgress))
  process.stdout.write(`\n${triples.length} lines; 95 % intervals (bootstrap over questions)\n\n`)
  for (const table of tables) process.stdout.write(`${textOf(table)}\n`)
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify({ triples: triples.length, tables })}\n`)
  }
}
