// npm run fuzz -- [--requests N] [--seed N] [--store memory|sqlite|mongodb] [--over-http]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../../icl/start/open-store.ts'
import { openWireServer } from '../store/wire-server/open.ts'
import { describeMalformed, sendMalformed } from './raw-http.ts'
import { reportOf } from './report.ts'
import { runFuzz } from './run.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'memory' },
    'over-http': { type: 'boolean', default: false },
  },
})
const requests = Number(values.requests)
const seed = Number(values.seed)
if (!(Number.isInteger(requests) && requests > 0)) throw new TypeError('--requests takes a number')
if (!Number.isInteger(seed)) throw new TypeError('--seed takes a whole number')

const write = (text: string) => process.stdout.write(text)
const startedAt = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
const server = values.store === 'mongodb' ? await openWireServer() : undefined

async function databaseUrl(): Promise<string> {
  if (values.store === 'memory') return 'memory:'
  if (values.store === 'sqlite') return `sqlite:${join(folder, 'icl.db')}`
  if (server) return server.freshUrl()
  throw new TypeError('--store takes memory, sqlite or mongodb')
}

try {
  const result = await runFuzz({
    seed,
    requests,
    openStore: async () => openStore(await databaseUrl()),
    overHttp: values['over-http'],
    onProgress: (counts) => {
      const { requests: done } = counts.totals()
      if (done % 10_000 === 0) {
        process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${done}\n`)
      }
    },
  })
  const { text, failures } = reportOf(result, {
    seed,
    requests,
    store: values.store,
    overHttp: values['over-http'],
  })
  write(`${text}${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`)
  const malformed = values['over-http'] ? await sendMalformed() : []
  write(describeMalformed(malformed))
  const isRefused = malformed.every(({ wrong }) => wrong === undefined)
  process.exitCode = failures.length === 0 && isRefused ? 0 : 1
} finally {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
}
