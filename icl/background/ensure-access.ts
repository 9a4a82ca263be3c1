import type { Address } from '../../lib/codecs.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { assignmentOf, isSettled, type Job } from '../rules/job.ts'

/** Whether a node can read the keys of its job. */
export type Access = {
  readonly prompt: 'allowed' | 'missing' | 'refused' | 'not-needed'
  /** True when there is nothing left to see to. */
  readonly done: boolean
}

/**
 * Sees that a node may read the prompt key, and the output key once there is one; what is missing is granted as the
 * owner's delegate where the owner delegated it.
 */
export async function ensureAccess(
  deps: Dependencies,
  job: Job,
  node: Address,
  fence: number,
  term: AbortSignal,
): Promise<Access> {
  const assignment = assignmentOf(job, node)
  const over =
    assignment?.status === 'lapsed' ||
    assignment?.status === 'aborted' ||
    assignment?.status === 'done'
  if (isSettled(job.phase) || assignment?.fence !== fence || over) {
    return { prompt: 'not-needed', done: true }
  }
  const prompt = await ensureReadable(deps, job.kpHighHandle, job.kpLowHandle, node, term)
  if (prompt !== 'allowed') return { prompt, done: prompt === 'refused' }
  const output = job.result?.body
  if (output === undefined) return { prompt, done: true }
  const readable = await ensureReadable(deps, output.outHighHandle, output.outLowHandle, node, term)
  // A refusal is final: the verifier will find the output unavailable and say so.
  return { prompt, done: readable !== 'missing' }
}

async function ensureReadable(
  deps: Dependencies,
  high: bigint,
  low: bigint,
  node: Address,
  term: AbortSignal,
): Promise<'allowed' | 'missing' | 'refused'> {
  if (await isReadable(deps, high, low, node)) return 'allowed'
  const record = await deps.chain.keyRecordOf(high, low)
  const now = toSeconds(deps.clock.now())
  const delegated =
    record?.delegate === deps.chain.coordinator && record.grantsLeft > 0 && record.until > now
  if (!delegated) return 'missing'
  const outcome = await deps.chain.grantAccess(high, low, node, term)
  if (outcome === 'exhausted') return 'missing'
  if (outcome === 'refused') {
    deps.log.warn('access refused: the node is not active on chain', { node })
    return 'refused'
  }
  deps.log.info('access granted', { node })
  return (await isReadable(deps, high, low, node)) ? 'allowed' : 'missing'
}

async function isReadable({ chain }: Dependencies, high: bigint, low: bigint, node: Address) {
  const allowed = await Promise.all([chain.isAllowed(high, node), chain.isAllowed(low, node)])
  return allowed.every(Boolean)
}
