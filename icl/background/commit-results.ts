import type { Hash32, JobId } from '../../lib/codecs.ts'
import { keccak256Hex, utf8 } from '../../lib/digest.ts'
import type { ChainResult, Commitment } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Job, recorded } from '../rules/job.ts'
import { withNoticeDue } from '../rules/webhook.ts'
import { type Delivery, failed, finishEffect } from './finish-effect.ts'

const confirmingMs = 2_000
const longestConfirmingMs = 15_000

type Due = { readonly job: Job; readonly effectId: number; readonly attempts: number }
type Looked = Due & { readonly found: Commitment | Error; readonly sentTx?: Hash32 | undefined }

/**
 * Puts the results of jobs on chain, all in one transaction, unless they are there; each effect is done once its event is deep
 * enough to stay. False when the chain did not take the transaction.
 */
export async function commitDue(
  deps: Dependencies,
  effects: readonly (readonly [JobId, number])[],
  term: AbortSignal,
): Promise<boolean> {
  const due = (await Promise.all(effects.map((effect) => load(deps, effect)))).flat()
  const looked = await Promise.all(due.map((one) => look(deps, one, one.job.commitSentTx)))
  // Sent only when it is absent: one that is not deep yet is already paid for.
  const absent = looked.filter(({ found }) => !(found instanceof Error) && found.state === 'absent')
  const { isTaken, sent } = await send(deps, absent, term)
  if (term.aborted) return true
  const rest = looked.filter((one) => !absent.includes(one))
  await Promise.all([...rest, ...sent].map((one) => finish(deps, one)))
  return isTaken
}

async function load(
  { store }: Dependencies,
  [id, effectId]: readonly [JobId, number],
): Promise<readonly Due[]> {
  const job = (await store.findJob(id))?.document
  const pending = job?.outbox.find((entry) => entry.id === effectId)
  return job && pending ? [{ job, effectId, attempts: pending.attempts }] : []
}

async function look(
  { chain }: Dependencies,
  due: Due,
  sentTx: Hash32 | undefined,
): Promise<Looked> {
  try {
    return { ...due, sentTx, found: await chain.findCommitment(chainResultOf(due.job), sentTx) }
  } catch (error) {
    return { ...due, sentTx, found: asError(error) }
  }
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

async function finish(deps: Dependencies, looked: Looked): Promise<void> {
  const { job, effectId } = looked
  await finishEffect(deps, job.id, effectId, deliveryOf(deps, looked))
}

function deliveryOf(
  { clock, log }: Dependencies,
  { job, found, sentTx, attempts }: Looked,
): Delivery {
  if (found instanceof Error) {
    const { error } = failed(found)
    log.warn('effect failed', { jobId: job.id, effect: 'commit-result', error })
    return { done: false, error, change: (now) => ({ ...now, commitError: error }) }
  }
  if (found.state === 'deep') {
    const { tx } = found
    log.info('result committed', { jobId: job.id, tx })
    return {
      done: true,
      change: (now) =>
        recorded(
          {
            ...now,
            commitTx: tx,
            commitError: undefined,
            outbox: withNoticeDue(now.outbox, clock.now()),
          },
          clock.now(),
          'result-committed',
          { detail: tx },
        ),
    }
  }
  return {
    done: false,
    retryMs: Math.min(confirmingMs * 1.2 ** attempts, longestConfirmingMs),
    change: (now) => ({ ...now, commitSentTx: sentTx, commitError: undefined }),
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

function chainResultOf({ receipt, receiptHash }: Job): ChainResult {
  if (!receipt || !receiptHash) throw new TypeError('An accepted job has a receipt')
  const { delivery, tally, verdicts } = receipt
  const { deliverer, group } = tally.body
  const members = receipt.answers
    .filter((_, index) => ((group >> index) & 1) === 1)
    .map(({ body }) => body.address)
  const said = verdicts.filter(({ body }) => members.includes(body.address))
  const matches = said.filter(({ body }) => body.verdict === 'match').length
  return {
    jobId: receipt.jobId,
    outputCidHash: keccak256Hex(utf8(delivery.body.output_cid)),
    receiptHash,
    leader: deliverer,
    verifiers: members.filter((member) => member !== deliverer),
    matches,
    noMatches: said.length - matches,
  }
}
