import { demoRuntimes, programOf } from '../../demo/runtime-programs.ts'
import { startPackedServer } from '../packed-server.ts'
import { print, runOnly } from '../run-program.ts'
import { checks, objectChecks } from './checks.ts'
import { outgoingCases } from './inside/outgoing.ts'
import { cases } from './inside/run-cases.ts'
import { runInside } from './inside/runtimes.ts'
import { dealWith } from './running-icl.ts'
import { startRuntimesWorld } from './world.ts'

const columns = [...[...checks, ...objectChecks].map(({ name }) => name), 'shared code']
const failures: string[] = []

/** The proxy of `wrangler dev`, which Cloudflare does not have, takes a Host with a path for an address. */
const wranglersOwn = 'refusals'

/** What the table shows: `pass` with what was measured, or `FAIL`, whose reason is told below the table. */
async function cell(name: string, run: () => Promise<string | undefined>): Promise<string> {
  try {
    const measured = await run()
    return measured === undefined ? 'pass' : `pass (${measured})`
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : error}`)
    return 'FAIL'
  }
}

await runOnly('npm run test:runtimes --', {
  summary:
    'Print as a table which checks the ICL passes on each runtime. Ends with 1 when one fails.',
  run: async () => {
    const rows: string[][] = []
    const world = await startRuntimesWorld()
    const packed = await startPackedServer()
    try {
      for (const runtime of demoRuntimes) {
        const program = programOf(runtime)
        if (program === undefined) {
          failures.push(`${runtime} is not installed`)
          continue
        }
        const row: string[] = [runtime]
        const process = await world.start(runtime)
        const icl = dealWith(world, runtime, process)
        for (const { name, run } of checks) {
          const isItsOwn = runtime === 'wrangler' && name === wranglersOwn
          row.push(isItsOwn ? '' : await cell(`${runtime}, ${name}`, () => run(icl)))
        }
        for (const { name, run } of objectChecks) {
          row.push(runtime === 'workerd' ? await cell(`${runtime}, ${name}`, () => run(icl)) : '')
        }
        await world.processes.stop([process.process])
        if (runtime === 'wrangler') {
          rows.push([...row, ''])
          continue
        }
        const inside = await cell(`${runtime}, shared code`, async () => {
          const results = await runInside(runtime, program, packed.url)
          const failed = results.filter(({ error }) => error !== undefined)
          if (failed.length > 0)
            throw new Error(failed.map(({ name, error }) => `${name}: ${error}`).join('; '))
          if (results.length !== cases.length + outgoingCases('').length)
            throw new Error(`${results.length} cases were run`)
          return `${results.length} cases`
        })
        rows.push([...row, inside])
      }
    } finally {
      await packed.close()
      await world.stop()
    }

    const table = [['', ...columns], ...rows]
    const widths = ['', ...columns].map((_, column) =>
      Math.max(...table.map((row) => row[column]?.length ?? 0)),
    )
    const line = (row: readonly string[]) =>
      `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
    print(line(table[0] ?? []))
    print(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
    for (const row of rows) print(line(row))
    for (const failure of failures) print(`\nFAIL ${failure}`)
    return failures.length === 0 ? 0 : 1
  },
})
