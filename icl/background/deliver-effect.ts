import type { Address, JobId } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { KeyedMutex } from '../async/mutex.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import { checkFitness, demandOf } from '../pool/load-pool.ts'
import type { EffectNews, MemberState, Tried } from '../rules/commands.ts'
import type { Effect, PendingEffect } from '../rules/effects.ts'
import { assignmentOf, type Job } from '../rules/job.ts'
import { ensureAccess } from './ensure-access.ts'
import { scoreNode } from './score-node.ts'
import { slashNode } from './slash-node.ts'

const busyRetryMs = 1_000
const longestAccessRetryMs = 10_000

/** Whose turn it is to deliver, and the queues, one for each node, in which offers are made. */
export type Delivering = {
  /** Aborts when another replica leads. */
  readonly term: AbortSignal
  readonly offers: KeyedMutex
}

/** Tries one effect of a job's outbox, other than its commitment on chain and the message to its client's server. */
export async function deliverEffect(
  deps: Dependencies,
  id: JobId,
  effectId: number,
  delivering: Delivering,
): Promise<void> {
  const job = (await deps.store.findJob(id))?.document
  const pending = job?.outbox.find((entry) => entry.id === effectId)
  if (!job || !pending) return
  const news = await perform(deps, job, pending, delivering).catch(
    (caught: unknown): EffectNews => {
      // What the store cannot do now says nothing about the effect; to note each try would only make more to save.
      if (caught instanceof ProblemError && caught.code === 'unavailable') throw caught
      const error = errorMessage(caught)
      deps.log.warn('effect failed', { jobId: id, effect: pending.effect.type, error })
      return effectTried({ done: false, error })
    },
  )
  if (!delivering.term.aborted) await changeJob(deps, id, { ...news, effectId })
}

const effectTried = (tried: Tried): EffectNews => ({ type: 'effect-tried', tried })

async function perform(
  deps: Dependencies,
  job: Job,
  { effect, attempts }: PendingEffect,
  delivering: Delivering,
): Promise<EffectNews> {
  switch (effect.type) {
    case 'ensure-access':
      return effectTried(await giveAccess(deps, job, effect, attempts, delivering))
    case 'score-node':
      await scoreNode(deps, job, effect)
      return effectTried({ done: true })
    case 'slash-node':
      return slashNode(deps, job, effect, attempts, delivering.term)
    case 'commit-result':
      throw new TypeError('Results are committed many at a time')
    case 'notify':
      throw new TypeError('Messages to servers are sent apart from other effects')
  }
}

async function giveAccess(
  deps: Dependencies,
  job: Job,
  { node, fence }: Extract<Effect, { type: 'ensure-access' }>,
  attempts: number,
  { term, offers }: Delivering,
): Promise<Tried> {
  const access = await ensureAccess(deps, job, node, fence, term)
  if (term.aborted) return { done: false }
  if (access === 'allowed') {
    const offered = await offers(node, () => offerAssignment(deps, job.id, node, fence, term))
    if (!offered) return { done: false, retryMs: busyRetryMs }
  } else if (access === 'missing') {
    await changeJob(deps, job.id, { type: 'miss-access', node, fence })
  } else if (access === 'refused') {
    await changeJob(deps, job.id, { type: 'refuse-access', node, fence })
  } else if (access === 'ended') {
    await changeJob(deps, job.id, { type: 'find-ended', node, fence })
  }
  if (access !== 'missing') return { done: true }
  return { done: false, retryMs: Math.min(1_000 * 1.2 ** attempts, longestAccessRetryMs) }
}

const findingOf = (fitness: MemberState) => {
  if (fitness === 'fit') return 'see-access'
  return fitness === 'busy' ? 'find-busy' : 'find-gone'
}

/**
 * Offers an assignment to its node; false while the node has as much work as it takes. Run one at a time for each node, and by one
 * process, or two would see one free slot.
 */
async function offerAssignment(
  deps: Dependencies,
  id: JobId,
  node: Address,
  fence: number,
  term: AbortSignal,
): Promise<boolean> {
  const job = (await deps.store.findJob(id))?.document
  const assignment = job && assignmentOf(job, node)
  if (!assignment || assignment.fence !== fence || assignment.status !== 'awaiting-grant')
    return true
  const fitness = await checkFitness(deps, node, demandOf(job))
  // Asked last of all: what was counted holds only as long as nobody else makes offers.
  await changeJob(deps, id, async () =>
    term.aborted ? undefined : { type: findingOf(fitness), node, fence },
  )
  return fitness !== 'busy'
}
