import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSettled } from '../../icl/rules/job.ts'
import { openStore } from '../../icl/start/open-store.ts'
import type { Store } from '../../icl/store/store.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { systemClock } from '../../lib/system.ts'
import { modelId, origin, walletOf } from '../icl/test-icl.ts'
import { listKey } from '../listed-key.ts'
import { openWireServer } from '../store/wire-server/open.ts'
import { commitListed, handlesOf } from './chain.ts'
import { contest } from './contest.ts'
import { apiOf, type Contender, joinContender, retryBusy } from './nodes.ts'
import { startReplicas } from './replicas.ts'
import { type Counts, createTally } from './tally.ts'

/** How much contention there is to be. */
export type ContentionOptions = {
  readonly store: 'mongodb' | 'sqlite'
  /** ICL processes; one for sqlite, whose file has one. */
  readonly replicas: number
  readonly claims: number
  /** Jobs at the same time. */
  readonly jobs: number
  readonly nodes: number
}

/** Makes claims until there are as many as asked for; answers what became of them. */
export async function runContention(
  options: ContentionOptions,
  report: (counts: Counts) => void = () => {},
): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-contention-'))
  const database = await openDatabase(options, folder)
  try {
    const replicas = await startReplicas(options.replicas, database.url)
    try {
      const store = await openStore(database.url, { guest: true })
      try {
        return await contend(options, replicas.fetch, store, report)
      } finally {
        await store.close()
      }
    } finally {
      await replicas.stop()
    }
  } finally {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function openDatabase({ store }: ContentionOptions, folder: string) {
  if (store === 'sqlite') return { url: `sqlite:${join(folder, 'icl.db')}`, close: async () => {} }
  const { freshUrl, close } = await openWireServer()
  return { url: freshUrl(), close }
}

async function contend(
  { claims, jobs, nodes: nodeCount }: ContentionOptions,
  fetch: Fetch,
  store: Store,
  report: (counts: Counts) => void,
): Promise<Counts> {
  const tally = createTally()
  const nodes: Contender[] = []
  for (let index = 0; index < nodeCount; index++) {
    nodes.push(await joinContender(fetch, `contender ${index}`))
  }
  const over = new AbortController()
  const contests = new Map<JobId, Promise<void>[]>()
  const listening = nodes.map((node) =>
    listen(node, over.signal, (jobId, fence) => {
      const strangers = nodes.filter((other) => other !== node)
      const known = contests.get(jobId) ?? []
      contests.set(jobId, [...known, contest({ jobId, fence, node }, strangers, tally.add)])
    }),
  )
  const upkeep = every(10_000, over.signal, async () => {
    report(tally.counts())
    await Promise.all(nodes.map(({ beat }) => beat()))
    const now = systemClock.now()
    await store.prune({ now, settledBefore: now - keptMs, limit: 1_000 })
  })
  const isEnough = () => tally.counts().claims >= claims
  const check = async (id: JobId) => {
    // Claims that are under way still count.
    await Promise.all(contests.get(id) ?? [])
    contests.delete(id)
    const found = await retryBusy(() => store.findJob(id))
    if (!found) throw new Error(`Job ${id} is gone`)
    tally.check(found.document)
  }
  const submitting = Array.from({ length: jobs }, async (_, index) => {
    for (let count = 0; !isEnough(); count++) {
      // A client of its own for each: those who forget a client's jobs would draw the same quorum for it again.
      const id = await submitOne(fetch, `client ${index}.${count}`)
      await untilSettled(store, id, isEnough)
      if (!isEnough()) await check(id)
    }
  })
  try {
    await Promise.all(submitting)
  } finally {
    over.abort()
    await Promise.all([...listening, upkeep])
  }
  for (const id of [...contests.keys()]) await check(id)
  if (tally.unchecked() > 0) throw new Error(`${tally.unchecked()} jobs were never checked`)
  return tally.counts()
}

/** Settled jobs are of no more use after this time, and slow the database down. */
const keptMs = 60_000

/** Has a node ask for work until the signal aborts; calls `onOffer` once for each offer. */
async function listen(
  { address, api }: Contender,
  signal: AbortSignal,
  onOffer: (jobId: JobId, fence: number) => void,
): Promise<void> {
  const seen = new Set<string>()
  while (!signal.aborted) {
    const { assignments } = await api
      .getAssignments({ params: { address }, query: { wait: 2 } })
      .catch(() => ({ assignments: [] }))
    for (const { jobId, fence } of assignments) {
      if (seen.has(`${jobId}:${fence}`)) continue
      seen.add(`${jobId}:${fence}`)
      onOffer(jobId, fence)
    }
    // An offer stays in the list until it is claimed.
    await systemClock.sleep(300)
  }
}

async function every(ms: number, signal: AbortSignal, body: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(ms, signal).catch(() => {})
    if (!signal.aborted) await body().catch(() => {})
  }
}

/** Submits a job with three seats as its client does, again when the pool has changed meanwhile. */
async function submitOne(fetch: Fetch, name: string): Promise<JobId> {
  const { address: client, signer } = walletOf(name)
  const api = apiOf(fetch, signer)
  return retryBusy(async () => {
    const key = await listKey(api, {
      origin,
      modelId,
      storeKey: async (terms) => handlesOf(client, terms),
    })
    const prompt_cid = `bafkrei${'a'.repeat(52)}`
    const until = unixSeconds(systemClock) + 1_200
    commitListed(client, prompt_cid, until, key)
    const { list, highHandle, lowHandle } = key
    const body = {
      model_id: modelId,
      prompt_cid,
      kpHighHandle: highHandle,
      kpLowHandle: lowHandle,
      list,
      until,
      client_nonce: 0n,
    }
    const { jobId } = await api.submitJob({ body })
    return jobId
  })
}

const settleMs = 660_000

async function untilSettled(store: Store, id: JobId, isEnough: () => boolean): Promise<void> {
  const end = systemClock.now() + settleMs
  while (!isEnough()) {
    const found = await retryBusy(() => store.findJob(id))
    if (found && isSettled(found.document.phase)) return
    if (systemClock.now() > end) throw new Error(`Job ${id} does not settle`)
    await systemClock.sleep(3_000)
  }
}
