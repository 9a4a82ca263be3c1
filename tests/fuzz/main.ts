import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openStore } from '../../icl/start/open-store.ts'
import { flag, OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { print, runOnly } from '../run-program.ts'
import { openWireServer } from '../store/wire-server/open.ts'
import { describeMalformed, sendMalformed } from './raw-http.ts'
import { reportOf } from './report.ts'
import { runFuzz } from './run.ts'

await runOnly('npm run fuzz --', {
  summary:
    'Send the ICL right and wrong requests, made from its OpenAPI document, and check each response.',
  options: z.object({
    requests: option(WholeNumber(1, 1_000_000_000).default(100_000), 'N', 'How many'),
    seed: option(WholeNumber(0, 999_999_999).default(1), 'N', 'What decides them'),
    store: option(OneOf(['memory', 'sqlite', 'mongodb']).default('memory'), 'NAME', 'Of the ICL'),
    overHttp: flag('Over sockets, and malformed HTTP besides'),
  }),
  run: async (given, { warn }) => {
    const { store, ...asked } = given
    const startedAt = performance.now()
    const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
    const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
    const server = store === 'mongodb' ? await openWireServer() : undefined
    const databaseUrl = async () => {
      if (store === 'memory') return 'memory:'
      return server ? server.freshUrl() : `sqlite:${join(folder, 'icl.db')}`
    }
    try {
      const result = await runFuzz({
        ...asked,
        openStore: async () => openStore(await databaseUrl()),
        onProgress: (counts) => {
          const { requests: done } = counts.totals()
          if (done % 10_000 === 0) warn(`${seconds()}: ${done}`)
        },
      })
      const { text, failures } = reportOf(result, given)
      print(`${text}${seconds()}`)
      const malformed = asked.overHttp ? await sendMalformed() : []
      if (asked.overHttp) print(describeMalformed(malformed))
      const isRefused = malformed.every(({ wrong }) => wrong === undefined)
      return failures.length === 0 && isRefused ? 0 : 1
    } finally {
      await server?.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
})
