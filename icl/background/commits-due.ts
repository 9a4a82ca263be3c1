import type { Hash32, JobId } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { atMost } from '../async/at-most.ts'
import { createWork } from '../async/work.ts'
import type { ChainResult, Commitment } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import { receiptOf } from '../operations/make-receipt.ts'
import type { EffectNews } from '../rules/commands.ts'
import type { Job } from '../rules/job.ts'
import { togetherMs } from './deliver-effects.ts'

const mostAtOnce = 50
const maxWaiting = 5_000

/** Puts results on chain, many at a time. One transaction is under way at a time, and has the results that came before it. */
export function createCommits(deps: Dependencies) {
  const work = createWork(deps)
  const waiting = new Map<JobId, WaitingResult>()
  let atOnce = mostAtOnce
  return {
    /** Makes a job's result wait for the next transaction, if there is room and it does not wait already. */
    add: (id: JobId, { effectId, others }: Pick<WaitingResult, 'effectId' | 'others'>) => {
      if (waiting.has(id) || waiting.size >= maxWaiting) return
      waiting.set(id, { effectId, others, done: [], isNoted: false })
    },
    /** Whether a job has a result that waits. */
    has: (id: JobId) => waiting.has(id),
    /** Takes finished effects of a job, to record them with its result. Returns false when no result waits. */
    noteLater: (id: JobId, effectIds: readonly number[]) => {
      const result = waiting.get(id)
      if (!result || result.isNoted) return false
      result.done.push(...effectIds)
      return true
    },
    /** True for a finished effect that is recorded with its job's result. */
    isDone: (id: JobId, effectId: number) => waiting.get(id)?.done.includes(effectId) ?? false,
    /** Sends the waiting results, unless a transaction is under way. */
    start: (term: AbortSignal) => {
      if (waiting.size === 0) return
      void work.start('commits', async () => {
        const batch = [...waiting].slice(0, atOnce)
        try {
          const isTaken = await commitDue(deps, batch, term)
          // A batch may be too large for a block of the chain.
          const next = isTaken ? atOnce * 2 : Math.floor(batch.length / 2)
          atOnce = Math.min(Math.max(next, 1), mostAtOnce)
        } finally {
          for (const [id, one] of batch) if (waiting.get(id) === one) waiting.delete(id)
        }
      })
    },
    clear: () => waiting.clear(),
    get size() {
      return waiting.size
    },
    idle: () => work.idle(),
  }
}

/** A result that is to be put on chain. */
export type WaitingResult = {
  readonly effectId: number
  /** Resolves once the effects of its job that were due with it have ended. */
  readonly others: Promise<void>
  /** The numbers of other finished effects of its job, which are recorded with it. */
  readonly done: number[]
  /** True once it is recorded; other effects are recorded by themselves then. */
  isNoted: boolean
}

type Due = { readonly job: Job; readonly waiting: WaitingResult }
type Looked = Due & { readonly found: Commitment | Error; readonly sentTx?: Hash32 | undefined }

/**
 * Puts the results of jobs on chain in one transaction, except those that are there. Each effect is done once its event is deep enough to
 * stay. Returns false when the chain did not take the transaction.
 */
async function commitDue(
  deps: Dependencies,
  effects: readonly (readonly [JobId, WaitingResult])[],
  term: AbortSignal,
): Promise<boolean> {
  const due = (await Promise.all(effects.map((effect) => load(deps, effect)))).flat()
  const looked = await Promise.all(due.map((one) => look(deps, one, one.job.commitSentTx)))
  // A result that is on chain but not deep yet is already paid for.
  const absent = looked.filter(({ found }) => !(found instanceof Error) && found.state === 'absent')
  const { isTaken, sent } = await send(deps, absent, term)
  if (term.aborted) return true
  const rest = looked.filter((one) => !absent.includes(one))
  await Promise.all([...rest, ...sent].map((one) => note(deps, one)))
  return isTaken
}

async function load(
  { store }: Dependencies,
  [id, waiting]: readonly [JobId, WaitingResult],
): Promise<readonly Due[]> {
  const job = (await store.findJob(id))?.document
  return job?.outbox.some((entry) => entry.id === waiting.effectId) ? [{ job, waiting }] : []
}

async function look({ chain }: Dependencies, due: Due, sentTx: Hash32 | undefined) {
  const find = async () => chain.findCommitment(chainResultOf(due.job), sentTx)
  return { ...due, sentTx, found: await find().catch(asError) }
}

async function send(
  deps: Dependencies,
  absent: readonly Due[],
  term: AbortSignal,
): Promise<{ readonly isTaken: boolean; readonly sent: readonly Looked[] }> {
  if (absent.length === 0) return { isTaken: true, sent: [] }
  try {
    const tx = await deps.chain.commitResults(
      absent.map(({ job }) => chainResultOf(job)),
      term,
    )
    return { isTaken: true, sent: await Promise.all(absent.map((due) => look(deps, due, tx))) }
  } catch (error) {
    return { isTaken: false, sent: absent.map((due) => ({ ...due, found: asError(error) })) }
  }
}

async function note(deps: Dependencies, { job, waiting, ...looked }: Looked): Promise<void> {
  const news = newsOf(looked)
  if (news.type === 'effect-tried') {
    const { error } = news.tried
    deps.log.warn('effect failed', { jobId: job.id, effect: 'commit-result', error })
  }
  await atMost(deps.clock, togetherMs, waiting.others)
  waiting.isNoted = true
  const done = { type: 'effect-tried', tried: { done: true } } as const
  const others = waiting.done.map((effectId) => ({ ...done, effectId }))
  const all = [...others, { ...news, effectId: waiting.effectId }]
  await changeJob(deps, job.id, { type: 'effects-seen', news: all })
}

function newsOf({ found, sentTx }: Pick<Looked, 'found' | 'sentTx'>): EffectNews {
  if (found instanceof Error) {
    // The contract never changes a result: with another one of a job, which a restored backup can lead to, all tries would fail.
    const done = found instanceof SvcError && found.code === 'chain-conflict'
    return { type: 'effect-tried', tried: { done, error: errorMessage(found) } }
  }
  return found.state === 'deep'
    ? { type: 'commit-seen', tx: found.tx, isDeep: true }
    : { type: 'commit-seen', tx: sentTx, isDeep: false }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

function chainResultOf(job: Job): ChainResult {
  const [receipt, receiptHash] = [receiptOf(job), job.receiptHash]
  if (!receipt || !receiptHash) throw new TypeError('An accepted job has a receipt')
  return { jobId: receipt.jobId, receiptHash, keyBlock: receipt.list.block.number }
}
