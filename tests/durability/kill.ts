// npm run kill -- [--store sqlite|mongodb] [--kills 200]: kill -9 of an ICL under load; whatever it has acknowledged has to be there afterwards.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../lib/system.ts'
import { checkTold, kindsOf } from './check-told.ts'
import { openDatabase, type StoreKind } from './database.ts'
import { type IclProcess, startIclProcess } from './icl-process.ts'
import { createOutside, type Load, startLoad } from './load.ts'
import { serveChain } from './remote-chain.ts'

/** What to run. */
type KillOptions = {
  readonly store: StoreKind
  readonly kills: number
  readonly print?: (line: string) => void
}

/** What came of it. */
export type KillReport = {
  readonly kills: number
  readonly acknowledged: number
  readonly found: number
  readonly lost: number
  /** Jobs that went all the way. */
  readonly finished: number
}

const longestLifeMs = 700
const settleMs = 300
const workingMs = 60_000
const fewest = 3
const askMs = 10

/** Kills an ICL at random points under load, and looks after each restart for everything that was acknowledged. */
export async function runKills({
  store: kind,
  kills,
  print = () => {},
}: KillOptions): Promise<KillReport> {
  const database = await openDatabase(kind)
  let url = ''
  const answers = new Map<string, number>()
  const icl = createOutside(
    () => url,
    (answer) => answers.set(answer, (answers.get(answer) ?? 0) + 1),
  )
  const chain = serveChain(icl.chain)
  const settings = {
    databaseUrl: database.url,
    chainUrl: chain.url,
    journalDir: join(database.folder, 'journal'),
  }
  const start = async () => {
    const started = await startIclProcess(settings)
    url = started.url
    return started
  }
  let process = await start()
  try {
    const load = await startLoad(icl, answers, { workers: 6, nodeCount: 40 })
    const lost = new Set<unknown>()
    let checked = 0
    for (let count = 1; count <= kills; count++) {
      await untilWorking(load, answers, process)
      await systemClock.sleep(Math.random() * longestLifeMs)
      await process.kill()
      const acknowledged = load.told.slice()
      process = await start()
      const look = await database.look()
      // What was found once can be lost later, but not without a word about its job: each check goes back over the last jobs.
      const from = Math.max(checked - 200, 0)
      const { lost: missing } = await checkTold(look, acknowledged.slice(from))
      await look.close()
      for (const told of missing) lost.add(told)
      checked = acknowledged.length
      print(`kill ${count}: ${acknowledged.length} acknowledged, ${lost.size} lost`)
    }
    await systemClock.sleep(settleMs)
    // However slow the machine is: an ICL that never finishes a job has not come back.
    for (const end = systemClock.now() + workingMs; systemClock.now() < end; ) {
      if (load.finished > 0) break
      await systemClock.sleep(askMs)
    }
    await load.stop()
    const look = await database.look()
    const all = await checkTold(look, load.told)
    await look.close()
    for (const told of all.lost) lost.add(told)
    print(kindsOf(load.told))
    print(listed(answers))
    return {
      kills,
      acknowledged: load.told.length,
      found: load.told.length - lost.size,
      lost: lost.size,
      finished: load.finished,
    }
  } finally {
    await process.kill()
    await chain.stop()
    await database.close()
  }
}

const listed = (answers: ReadonlyMap<string, number>): string =>
  [...answers].map(([answer, count]) => `${answer}: ${count}`).join(', ')

/** Waits until the load goes on: an ICL that has done nothing has nothing to lose. */
async function untilWorking(
  { told }: Load,
  answers: ReadonlyMap<string, number>,
  process: IclProcess,
): Promise<void> {
  const end = systemClock.now() + workingMs
  const before = told.length
  while (told.length < before + fewest) {
    if (systemClock.now() > end) {
      throw new Error(
        `The load does not go on; answers so far: ${listed(answers)}; the ICL's log:\n${process.log()}`,
      )
    }
    await systemClock.sleep(askMs)
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      kills: { type: 'string', default: '200' },
    },
  })
  const kind = values.store === 'mongodb' ? 'mongodb' : 'sqlite'
  const report = await runKills({
    store: kind,
    kills: Number(values.kills),
    print: (line) => process.stdout.write(`${line}\n`),
  })
  const { kills, acknowledged, found, lost, finished } = report
  process.stdout.write(
    `${kind}: ${kills} kills, ${finished} jobs finished; acknowledged ${acknowledged}, found ${found}, lost = ${lost}\n`,
  )
  process.exit(lost === 0 ? 0 : 1)
}
