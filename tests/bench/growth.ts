import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../../lib/codecs.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { anAddress } from '../branded.ts'
import { walletOf } from '../icl/test-icl.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { connect } from './load/connection.ts'
import { requestBytes } from './load/signed-request.ts'
import { list, preview, storedKey } from './load/wire-calls.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { median } from './table.ts'
import { longestTurn } from './turns.ts'

const sizes = [60, 1_000, 10_000, 50_000]
const atOnce = 2_000
const modelList = { method: 'GET', path: '/v1/models' } as const

/** Entries of so many nodes, spread as addresses are. All have one key, because the keys are not what is measured. */
async function entries(count: number) {
  const [entry] = entriesOf(await createRoster(1))
  if (!entry) throw new TypeError('There is no node')
  return Array.from({ length: count }, (_, index) => {
    const start = ((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')
    return { ...entry, address: anAddress(`0x${start}${index.toString(16).padStart(32, '0')}`) }
  })
}

type Measured = Awaited<ReturnType<typeof measure>>

async function measure(nodes: number, { times, rounds }: { times: number; rounds: number }) {
  const server = await startServer({ kind: 'icl', databaseUrl: 'memory:', workers: true })
  let connection = await connect(server.port)
  const ask = async <T>(...[call, signer]: Parameters<typeof requestBytes>): Promise<T> => {
    // The server closes one that has not been used for 10 s.
    if (!connection.isOpen()) connection = await connect(server.port)
    const { status, body } = await connection.send(await requestBytes(call, signer))
    if (status !== 200) throw new Error(`${call.path} was answered ${status}: ${body}`)
    return JSON.parse(body)
  }
  /** Microseconds of processor time for one, as the middle of some rounds. */
  const micros = async (count: number, work: () => Promise<unknown>) => {
    const found: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const before = await server.call<Usage>('usage')
      await work()
      const after = await server.call<Usage>('usage')
      if (round > 0) found.push((after.cpuMicros - before.cpuMicros) / count)
    }
    return median(found)
  }
  const repeat = (work: () => Promise<unknown>) => async () => {
    for (let time = 0; time < times; time++) await work()
  }
  try {
    const all = await entries(nodes)
    // Nodes count for a while after they were heard of.
    const beat = async () => {
      for (let start = 0; start < nodes; start += atOnce) {
        await server.call('nodes', { nodes: all.slice(start, start + atOnce) })
      }
    }
    await beat()
    const { address, signer } = walletOf('growth')
    const { pool_cid } = await ask<{ pool_cid: string }>(preview)
    const { terms } = await storedKey(address, pool_cid)
    const previewing = await micros(
      times,
      repeat(() => ask(preview)),
    )
    const models = await micros(
      times,
      repeat(() => ask(modelList)),
    )
    // After the counts of the last second.
    const counting = await micros(1, async () => {
      await sleep(1_100)
      await ask(modelList)
    })
    const listing = await micros(
      times,
      repeat(async () => ask(list(await storedKey(address, pool_cid)), signer)),
    )
    await beat()
    const publishing = await micros(1, () => server.call('publish', { times: 1 }))
    const turns = await server.call<readonly number[]>('publish', { times: 5 })
    const members = await server.call<readonly Address[]>('draw', { times: 1, terms })
    const drawing = await micros(1_000, () => server.call('draw', { times: 1_000, terms }))
    const seating = await micros(10_000, () => server.call('seats', { times: 10_000, members }))
    return {
      ...{ nodes, drawing, seating, previewing, listing, models },
      counting: counting / nodes,
      publishing: publishing / nodes,
      publishTurnMs: Math.min(...turns),
      ...(await download(server.port, pool_cid)),
    }
  } finally {
    connection.close()
    await server.stop()
  }
}

/** Downloads and checks a pool as a new client does. */
async function download(port: number, root: string) {
  let requests = 0
  let bytes = 0
  const load = async (cid: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/ipfs/${cid}`)
    if (!response.ok) throw new Error(`${cid} was answered ${response.status}`)
    const part = new Uint8Array(await response.arrayBuffer())
    requests += 1
    bytes += part.length
    return part
  }
  const before = process.cpuUsage()
  await readPool(root, load)
  const { user, system } = process.cpuUsage(before)
  const once = { requests, bytes, downloadMs: (user + system) / 1000 }
  const turns: number[] = []
  for (let time = 0; time < 3; time++) turns.push(await longestTurn(() => readPool(root, load)))
  return { ...once, downloadTurnMs: Math.min(...turns) }
}

const flat = ['previewing', 'drawing', 'listing', 'seating', 'models'] as const

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const plan = byForm(form, {
    short: { times: 40, rounds: 5 },
    long: { times: 200, rounds: 15 },
  })
  const found: Measured[] = []
  for (const nodes of sizes) {
    say(`${nodes.toLocaleString('en')} nodes`)
    found.push(await measure(nodes, plan))
  }
  return findingsOf(found)
}

function findingsOf(found: readonly Measured[]): Findings {
  const [least, most] = [found[0], found.at(-1)]
  if (!least || !most) throw new TypeError('Nothing was measured')
  const micros = (value: number) => `${value.toFixed(0)} us`
  const size = most.nodes.toLocaleString('en')
  const goal = (what: string, value: number, unit: string, limit: number) =>
    ({ what, found: value, unit, limit, better: 'lower' }) as const
  return {
    method: `Processor time of an ICL with its store in memory: previews, lists and models by request, draws of a list and the look-up of its members for seats by themselves. The nodes of each model are counted once a second at most: that count and the publication are of the whole pool, for each node. The first download is processor time of a client. Turns are the longest of the thread, in processor time, the least of some times.`,
    tables: [
      {
        title: 'As the pool grows',
        rows: [
          [
            ...['nodes', 'preview', 'draw', 'list', 'seats', 'models', 'count', 'publication'],
            'longest turn',
            ...['download', 'requests', 'KiB', 'longest turn'],
          ],
          ...found.map((one) => [
            one.nodes.toLocaleString('en'),
            ...[one.previewing, one.drawing, one.listing, one.seating, one.models].map(micros),
            `${one.counting.toFixed(1)} us a node`,
            `${one.publishing.toFixed(1)} us a node`,
            `${one.publishTurnMs.toFixed(1)} ms`,
            `${one.downloadMs.toFixed(0)} ms`,
            `${one.requests}`,
            (one.bytes / 1024).toFixed(0),
            `${one.downloadTurnMs.toFixed(1)} ms`,
          ]),
        ],
      },
    ],
    figures: Object.fromEntries(
      found.flatMap(({ nodes, ...one }) =>
        Object.entries(one).map(([name, value]) => [`growth_${nodes}_${name}`, value] as const),
      ),
    ),
    goals: [
      ...flat.map((name) =>
        goal(`${name} with ${size} nodes, of that with 60`, most[name] / least[name], 'x', 1.3),
      ),
      goal(`requests of a new client for ${size} nodes`, most.requests, '', 60),
      goal(`processor time of a new client for ${size} nodes`, most.downloadMs, 'ms', 1_000),
      goal(`longest turn of publishing ${size} nodes`, most.publishTurnMs, 'ms', 20),
      goal(`longest turn of downloading ${size} nodes`, most.downloadTurnMs, 'ms', 20),
    ],
    skipped: [],
  }
}

export const growth: Benchmark = { title: 'Growth of the pool', run }
