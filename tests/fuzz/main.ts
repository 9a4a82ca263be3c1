import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../icl/start/open-store.ts'
import { readCommandLine, refuseOptions, wholeNumber } from '../command-line.ts'
import { openWireServer } from '../store/wire-server/open.ts'
import { describeMalformed, sendMalformed } from './raw-http.ts'
import { reportOf } from './report.ts'
import { runFuzz } from './run.ts'

const usage = `npm run fuzz -- [--requests N] [--seed N] [--store NAME] [--over-http]

Sends the ICL right and wrong requests, made from its OpenAPI document, and checks each response.

  --requests N  (100000)
  --seed N      (1)
  --store NAME  memory (default), sqlite or mongodb
  --over-http   over sockets, and malformed HTTP besides
`
const values = readCommandLine(usage, {
  requests: { type: 'string', default: '100000' },
  seed: { type: 'string', default: '1' },
  store: { type: 'string', default: 'memory' },
  'over-http': { type: 'boolean', default: false },
})
const requests = wholeNumber('requests', values.requests)
const seed = wholeNumber('seed', values.seed, 0)
if (!['memory', 'sqlite', 'mongodb'].includes(values.store)) {
  refuseOptions(`--store takes memory, sqlite or mongodb, not ${values.store}`)
}

const write = (text: string) => process.stdout.write(text)
const startedAt = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
const server = values.store === 'mongodb' ? await openWireServer() : undefined

async function databaseUrl(): Promise<string> {
  if (values.store === 'memory') return 'memory:'
  return server ? server.freshUrl() : `sqlite:${join(folder, 'icl.db')}`
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
