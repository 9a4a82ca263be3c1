import { atMost } from '../async/at-most.ts'
import { dueKey, tickKey } from '../async/notifier.ts'
import { every, logOnce } from '../async/repeat.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { keyOf } from '../records/keys.ts'
import { createEffects } from './effects-due.ts'
import { createLeadership, createLiveReplicas } from './leadership.ts'
import { keepPruned } from './prune-store.ts'
import { recountOnceFilled } from './recount-nodes.ts'
import { sendWhatLasts } from './send-what-lasts.ts'
import { tickDue } from './ticks-due.ts'
import { watchChanges } from './watch-changes.ts'
import { watchContracts } from './watch-contracts.ts'

const idleMs = 250
const finishMs = 5_000
const keyRefreshMs = 20_000

/** Does this replica's share of the due ticks, and while it leads all due effects, until the signal aborts. Then finishes running work for up to 5 s. */
export async function runWorkers(given: Dependencies, signal: AbortSignal): Promise<void> {
  const deps = sendWhatLasts(given)
  const { notifier } = deps
  const stopped = new AbortController()
  const ended = AbortSignal.any([signal, stopped.signal])
  const replicas = createLiveReplicas(deps)
  const leadership = createLeadership(deps, keyOf('leader', 'effects'))
  const ticks = createWork(deps)
  const effects = createEffects(deps, leadership)
  const loops = [
    deps.outages.keep(ended),
    deps.clockWatch.keep(ended),
    replicas.keep(ended),
    leadership.keep(ended),
    watchChanges(deps, ended),
    watchContracts(deps, ended),
    keepPruned(deps, leadership, ended),
    recountOnceFilled(deps, ended),
    every(deps, keyRefreshMs, ended, 'refreshing the keys', () => deps.keys.refresh()),
  ]
  const start = async (key: string, what: string, startDue: () => Promise<void>) => {
    const run = logOnce(deps, what)
    while (!ended.aborted && !notifier.closed) {
      const news = notifier.wait([key], idleMs, ended)
      await run(startDue)
      await news
    }
  }
  await Promise.all([
    start(tickKey, 'looking for due jobs', () => tickDue(deps, ticks, replicas)),
    start(dueKey, 'looking for due effects', () => effects.startDue()),
  ])
  stopped.abort()
  await atMost(deps.clock, finishMs, Promise.all([ticks.idle(), effects.idle(), ...loops]))
  // Work that still runs gives up with the lease, and the next holder does it.
  const leave = logOnce(deps, 'leaving the work to others')
  await leave(async () => {
    await Promise.all([leadership.release(), replicas.release()])
  })
}
