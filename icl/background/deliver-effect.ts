import type { Address, JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob, updateJob } from '../operations/change-job.ts'
import type { PendingEffect } from '../rules/effects.ts'
import { type Job, recorded, slotOf } from '../rules/job.ts'
import type { Turns } from '../turns.ts'
import { commitResult } from './commit-result.ts'
import { ensureAccess } from './ensure-access.ts'
import { scoreNode } from './score-node.ts'

/** What came of trying an effect: it is done, or it is to be tried again. */
export type Delivery =
  | { readonly done: true; readonly change?: (job: Job) => Job }
  | {
      readonly done: false
      /** When left out, the wait grows from one attempt to the next. */
      readonly retryMs?: number
      readonly change?: (job: Job) => Job
    }

const firstRetryMs = 500
const longestRetryMs = 30_000
const confirmingMs = 2_000
const busyRetryMs = 1_000
const longestAccessRetryMs = 10_000

/** Tries one effect of a job's outbox; it leaves the outbox only when it is done. */
export async function deliverEffect(
  deps: Dependencies,
  id: JobId,
  effectId: number,
  offers: Turns,
) {
  const job = (await deps.store.findJob(id))?.document
  const pending = job?.outbox.find((entry) => entry.id === effectId)
  if (!job || !pending) return
  const delivery = await perform(deps, job, pending, offers).catch((error: unknown): Delivery => {
    const message = error instanceof SvcError ? error.message : String(error)
    deps.log.warn('effect failed', { jobId: id, effect: pending.effect.type, error: message })
    return {
      done: false,
      change: (now) =>
        pending.effect.type === 'commit-result' ? { ...now, commitError: message } : now,
    }
  })
  await updateJob(deps, id, (now) => {
    const changed = delivery.change?.(now) ?? now
    return { ...changed, outbox: nextOutbox(changed, effectId, delivery, deps.clock.now()) }
  })
}

function nextOutbox(job: Job, effectId: number, delivery: Delivery, now: number) {
  if (delivery.done) return job.outbox.filter(({ id }) => id !== effectId)
  return job.outbox.map((pending) =>
    pending.id === effectId
      ? {
          ...pending,
          attempts: pending.attempts + 1,
          dueAt: now + (delivery.retryMs ?? backoffMs(pending)),
        }
      : pending,
  )
}

const backoffMs = ({ attempts }: PendingEffect): number =>
  Math.min(firstRetryMs * 2 ** attempts, longestRetryMs)

async function perform(
  deps: Dependencies,
  job: Job,
  { effect, attempts }: PendingEffect,
  offers: Turns,
): Promise<Delivery> {
  switch (effect.type) {
    case 'ensure-access': {
      const { node, fence } = effect
      const access = await ensureAccess(deps, job, node, fence)
      if (access.prompt === 'allowed') {
        const offered = await offers(() => offerSlot(deps, job.id, node, fence))
        if (!offered) return { done: false, retryMs: busyRetryMs }
      } else if (access.prompt === 'missing') {
        await changeJob(deps, job.id, { type: 'miss-access', node, fence })
      } else if (access.prompt === 'refused') {
        await changeJob(deps, job.id, { type: 'refuse-access', node, fence })
      }
      if (access.done) return { done: true }
      return { done: false, retryMs: Math.min(1_000 * 1.2 ** attempts, longestAccessRetryMs) }
    }
    case 'score-node':
      await scoreNode(deps, job.id, effect)
      return { done: true }
    case 'commit-result': {
      const { sentTx, tx } = await commitResult(deps, job)
      if (tx === undefined) {
        return {
          done: false,
          retryMs: confirmingMs,
          change: (now) => ({ ...now, commitSentTx: sentTx, commitError: undefined }),
        }
      }
      return {
        done: true,
        change: (now) =>
          recorded(
            { ...now, commitTx: tx, commitError: undefined },
            deps.clock.now(),
            'result-committed',
            { detail: tx },
          ),
      }
    }
  }
}

/** Offers a slot unless its node has as much work as it can take; false then. Run one at a time, or two would see one free place. */
async function offerSlot(
  deps: Dependencies,
  id: JobId,
  node: Address,
  fence: number,
): Promise<boolean> {
  const job = (await deps.store.findJob(id))?.document
  const slot = job && slotOf(job, node)
  if (slot?.fence === fence && slot.status === 'awaiting-grant') {
    const [known, busy] = await Promise.all([
      deps.store.findNode(node),
      deps.store.countBusySlots(),
    ])
    const { offered = 0, claimed = 0 } = busy.get(node) ?? {}
    if (offered + claimed >= (known?.document.capacity ?? 0)) return false
  }
  await changeJob(deps, id, { type: 'see-access', node, fence })
  return true
}
