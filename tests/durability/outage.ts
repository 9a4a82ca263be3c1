// npm run outage -- [--seconds 30] [--replicas 1|2]: the database is killed under load and started again on the same data.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../../icl/start/open-store.ts'
import { createTurns } from '../../icl/turns.ts'
import { systemClock } from '../../lib/system.ts'
import { beat } from '../icl/test-icl.ts'
import { findFerretDb, startFerretDb } from '../store/wire-server/ferretdb.ts'
import { startProxy } from '../store/wire-server/proxy.ts'
import { checkTold, kindsOf } from './check-told.ts'
import { type IclProcess, startIclProcess } from './icl-process.ts'
import { createOutside, type Load, startLoad, type Told } from './load.ts'
import { serveChain } from './remote-chain.ts'

/** What to run. */
type OutageOptions = {
  readonly seconds: number
  readonly replicas: 1 | 2
  readonly print?: (line: string) => void
}

/** What came of it. */
export type OutageReport = {
  /** What was acknowledged while the database was away, and in all. */
  readonly acknowledgedAway: number
  readonly acknowledged: number
  readonly found: number
  readonly lost: number
  /** `mongo_connected` of /health before, while it was away, and afterwards. */
  readonly health: readonly boolean[]
  /** The status of /readyz at the same times. */
  readonly ready: readonly number[]
  /** Of what was tried while it was away: saves and reads by their status, and whether every 503 said when to come again. */
  readonly saves: Readonly<Record<string, number>>
  readonly reads: Readonly<Record<string, number>>
  readonly saysWhen: boolean
  /** Milliseconds from the database's start to the end of the replay. */
  readonly backMs: number
}

const askMs = 200
const comeBackMs = 60_000
/** So much is acknowledged before the database goes, and again by an ICL that bridges its absence, however slow the machine is. */
const enoughTold = 12
const patienceMs = 60_000
/** The replay takes longer than the absence where the database is slower than memory. */
const replayShare = 10
/** One that starts beside another waits until that has seen it. */
const seenMs = 6_000

/** Takes the database of one or two ICLs away under load, and brings it back. */
export async function runOutage({
  seconds,
  replicas,
  print = () => {},
}: OutageOptions): Promise<OutageReport> {
  const found = await findFerretDb()
  if ('missing' in found) throw new Error(found.missing)
  const folder = mkdtempSync(join(tmpdir(), 'svc-outage-'))
  let ferret = await startFerretDb(found.path, folder)
  const { port } = ferret
  let turns = createTurns()
  const proxy = await startProxy({ host: '127.0.0.1', port }, (work) => turns(work))
  const databaseUrl = `mongodb://127.0.0.1:${proxy.port}/svc_outage`
  const processes: IclProcess[] = []
  let turn = 0
  const icl = createOutside(
    () => processes[turn++ % processes.length]?.url ?? '',
    () => {},
  )
  const chain = serveChain(icl.chain)
  try {
    for (let index = 0; index < replicas; index++) {
      const journalDir = join(folder, `journal-${index}`)
      processes.push(await startIclProcess({ databaseUrl, chainUrl: chain.url, journalDir }))
    }
    const load = await startLoad(icl, new Map(), { workers: 2, nodeCount: 9, thinkMs: 100 })
    await systemClock.sleep(replicas > 1 ? seenMs : 1_000)
    await until('the load runs', () => load.told.length >= enoughTold)
    const before = await isBack(processes, patienceMs)
    await ferret.kill()
    // Nobody listens there any more: nor does the proxy.
    proxy.takeAway()
    await until('it is noticed', async () => !(await probe(processes)).isConnected)
    // What was saved before may still be on its way to those who asked for it.
    await systemClock.sleep(askMs)
    const awayFrom = systemClock.now()
    const seen = await askWhileAway(processes, load, seconds * 1_000)
    const isAway = ({ at }: Told) => at > awayFrom
    if (replicas === 1) {
      await until('it is bridged', () => load.told.filter(isAway).length >= enoughTold)
    }
    const away = await probe(processes)
    const toldAway = load.told.filter(isAway)
    const backFrom = systemClock.now()
    ferret = await startFerretDb(found.path, folder, port)
    // A command that was under way when its server was killed must not hold up those to the next.
    turns = createTurns()
    proxy.restore()
    const patience = comeBackMs + replayShare * seconds * 1_000
    const after = await isBack(processes, patience)
    const backAt = systemClock.now()
    await systemClock.sleep(1_000)
    await load.stop()
    // A slow database may have been away once more: what was acknowledged meanwhile waits in a journal for the next replay.
    await isBack(processes, patience)
    const look = await openStore(databaseUrl)
    const { lost, found: kept } = await checkTold(look, load.told)
    await look.close()
    print(`all: ${kindsOf(load.told)}; while away: ${kindsOf(toldAway)}`)
    return {
      acknowledgedAway: toldAway.length,
      acknowledged: load.told.length,
      found: kept,
      lost: lost.length,
      health: [before, away, after].map(({ isConnected }) => isConnected),
      ready: [before, away, after].map(({ ready }) => ready),
      ...seen,
      backMs: backAt - backFrom,
    }
  } catch (error) {
    throw new Error(processes.map(({ log }) => log()).join('\n'), { cause: error })
  } finally {
    for (const process of processes) await process.kill()
    await chain.stop()
    await proxy.close()
    await ferret.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function probe(processes: readonly IclProcess[]) {
  const answers = await Promise.all(
    processes.map(async ({ url }) => {
      const health = (await (await fetch(`${url}/health`)).json()) as { mongo_connected: boolean }
      const { status } = await fetch(`${url}/readyz`)
      return { isConnected: health.mongo_connected, ready: status }
    }),
  )
  const ready = Math.max(...answers.map((answer) => answer.ready))
  return { isConnected: answers.some(({ isConnected }) => isConnected), ready }
}

/** Waits until something holds; throws when it takes too long. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = systemClock.now() + patienceMs
  while (!(await holds())) {
    if (systemClock.now() > end) throw new Error(`It takes too long until ${what}`)
    await systemClock.sleep(askMs)
  }
}

/** Saves and reads for a while. */
async function askWhileAway(processes: readonly IclProcess[], load: Load, ms: number) {
  const end = systemClock.now() + ms
  const saves: Record<string, number> = {}
  const reads: Record<string, number> = {}
  let saysWhen = true
  for (let count = 0; systemClock.now() < end; count++) {
    const { url } = processes[count % processes.length]!
    const { firstJob } = load
    if (firstJob === undefined) throw new Error('There was no load')
    const path = `${url}/v1/inference/${firstJob.jobId}`
    const authorization = { authorization: `Bearer ${firstJob.readToken}` }
    const read = await fetch(path, { headers: authorization })
    reads[read.status] = (reads[read.status] ?? 0) + 1
    const save = await heartbeatAt(url, load)
    saves[save.status] = (saves[save.status] ?? 0) + 1
    if (save.status === 503) saysWhen &&= Number(save.headers.get('retry-after')) > 0
    await systemClock.sleep(askMs)
  }
  return { saves, reads, saysWhen }
}

/** A save by whoever listens at a URL. */
async function heartbeatAt(url: string, { nodes }: Load): Promise<Response> {
  const [node] = nodes
  if (node === undefined) throw new Error('There are no nodes')
  const answers: Response[] = []
  const elsewhere = createOutside(
    () => url,
    (_, response) => response && answers.push(response),
  )
  await beat(elsewhere, { ...node, api: elsewhere.api(node.signer) }).catch(() => {})
  const [answer] = answers
  if (answer === undefined) throw new Error('The ICL does not answer')
  return answer
}

/** Waits until all replicas have the database and nothing waits in a journal. */
async function isBack(processes: readonly IclProcess[], ms: number) {
  const end = systemClock.now() + ms
  for (;;) {
    const all = await Promise.all(processes.map((process) => probe([process])))
    if (all.every(({ isConnected, ready }) => isConnected && ready === 200)) return all[0]!
    if (systemClock.now() > end) throw new Error('The database is not taken up again')
    await systemClock.sleep(askMs)
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '30' },
      replicas: { type: 'string', default: '1' },
    },
  })
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const replicas = values.replicas === '2' ? 2 : 1
  const report = await runOutage({ seconds: Number(values.seconds), replicas, print })
  for (const [name, value] of Object.entries(report)) print(`${name}: ${JSON.stringify(value)}`)
  process.exit(report.lost === 0 ? 0 : 1)
}
