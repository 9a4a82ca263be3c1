// npm run bench:store [-- --seconds N] [--workers N]: how many saves each store acknowledges in a second.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createMemoryStore } from '../../icl/store/memory.ts'
import { openSqliteStore } from '../../icl/store/sqlite-file.ts'
import type { Store } from '../../icl/store/store.ts'
import { sampleJob } from '../icl/rules/sample-job.ts'
import { ratio, table } from './table.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    workers: { type: 'string', default: '64' },
  },
})
const seconds = Number(values.seconds)
const workers = Number(values.workers)
if (!(seconds > 0 && seconds <= 600)) throw new TypeError('--seconds takes a number up to 600')
if (!(workers >= 1 && workers <= 10_000))
  throw new TypeError('--workers takes a number up to 10000')

/** Saves a second, by so many callers that each wait for their answer before the next save. */
async function measure(store: Store, callers: number): Promise<number> {
  let saves = 0
  const start = performance.now()
  const end = start + seconds * 1000
  const saveOn = async (caller: number) => {
    for (let count = 0; performance.now() < end; count++) {
      const id = `0x${(caller * 1e9 + count).toString(16).padStart(64, '0')}` as const
      await store.save({ kind: 'job', job: { ...sampleJob(), id }, base: 0 })
      saves += 1
      // As requests do: each comes in a turn of its own.
      await new Promise(setImmediate)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => saveOn(caller + 1)))
  await store.close()
  return saves / ((performance.now() - start) / 1000)
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
try {
  const single = await measure(await openSqliteStore(join(folder, 'single.db')), 1)
  const grouped = await measure(await openSqliteStore(join(folder, 'grouped.db')), workers)
  const memory = await measure(createMemoryStore(), workers)
  const row = (name: string, rate: number) => [name, rate.toFixed(0), ratio(rate, single)]
  process.stdout.write(
    table([
      ['store', 'saves/s', 'to one commit each'],
      row('sqlite, one commit each', single),
      row(`sqlite, ${workers} callers in groups`, grouped),
      row(`memory, ${workers} callers`, memory),
    ]),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
