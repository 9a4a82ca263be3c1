import { join } from 'node:path'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { connect } from './load/connection.ts'
import { requestBytes } from './load/signed-request.ts'
import { fillFile } from './server/fill-file.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import { median } from './table.ts'

const options = (file: string) =>
  ({ kind: 'icl', databaseUrl: `sqlite:${file}`, workers: true }) as const

async function isReady({ port }: ServerProcess): Promise<boolean> {
  const connection = await connect(port)
  const { status } = await connection.send(await requestBytes({ method: 'GET', path: '/readyz' }))
  connection.close()
  return status === 200
}

/** Milliseconds from the start of a process until it answers that it is ready; the process is killed then, at work. */
async function timeUntilReady(file: string): Promise<number> {
  const startedAt = performance.now()
  const server = await startServer(options(file))
  try {
    while (!(await isReady(server))) await new Promise((resolve) => setTimeout(resolve, 5))
    const took = performance.now() - startedAt
    await saveMuch(server)
    return took
  } finally {
    await server.kill()
  }
}

/** Leaves something behind that was not tidied up: saves are in the write-ahead log when the process dies. */
async function saveMuch(server: ServerProcess): Promise<void> {
  await server.call('nodes', { nodes: entriesOf(await createRoster(200)) })
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { jobs, rounds } = byForm(form, {
    short: { jobs: 100_000, rounds: 3 },
    long: { jobs: 100_000, rounds: 25 },
  })
  return await inEmptyFolder(async (folder) => {
    const [full, empty] = [join(folder, 'full.db'), join(folder, 'empty.db')]
    say(`writing ${jobs.toLocaleString('en')} open jobs`)
    await fillFile(full, {
      jobs,
      nodes: await createRoster(Math.min(1_000, 3 * jobs)),
      isSettled: false,
    })
    const took = { full: [] as number[], empty: [] as number[] }
    say('killing and starting')
    // The first start of each is after an orderly end: it does not count.
    for (let round = 0; round <= rounds; round++) {
      const [one, other] = [await timeUntilReady(full), await timeUntilReady(empty)]
      if (round === 0) continue
      took.full.push(one)
      took.empty.push(other)
    }
    return findingsOf(jobs, took)
  })
}

function findingsOf(
  jobs: number,
  took: Readonly<Record<'full' | 'empty', readonly number[]>>,
): Findings {
  const [full, empty] = [median(took.full), median(took.empty)]
  const cells = (all: readonly number[]) => [
    `${median(all).toFixed(0)} ms`,
    `${Math.max(...all).toFixed(0)} ms`,
  ]
  return {
    method: `A sqlite file with ${jobs.toLocaleString('en')} jobs whose three nodes are at work. The ICL is killed with SIGKILL while it saves, and started again, in turn with the same on an empty file. Measured until /readyz returns 200.`,
    tables: [
      {
        title: 'From the start of the process until it serves',
        rows: [
          ['open jobs', 'median', 'longest'],
          [jobs.toLocaleString('en'), ...cells(took.full)],
          ['0', ...cells(took.empty)],
        ],
      },
    ],
    figures: {
      recover_ms: full,
      recover_empty_ms: empty,
      recover_longest_ms: Math.max(...took.full),
    },
    goals: [
      {
        what: `serving again after kill -9 with ${jobs.toLocaleString('en')} open jobs`,
        found: full,
        unit: 'ms',
        limit: 1_000,
        better: 'lower',
        heldBackBy: 'loading the modules of the ICL; an empty file takes as long',
      },
    ],
    skipped: [],
  }
}

export const recover: Benchmark = { title: 'Recovery', run }
