import type { Address } from '../../lib/codecs.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Chain } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Assignment, assignmentOf, isSettled, type Job } from '../rules/job.ts'

/** Whether a node can read the keys of its job. */
export type Access = {
  /** `ended`: its client gives nobody else access. */
  readonly prompt: 'allowed' | 'missing' | 'refused' | 'ended' | 'not-needed'
  /** True when there is nothing left to see to. */
  readonly done: boolean
}

/**
 * Sees that a node may read the prompt key, and the output key once there is one. The coordinator activates members of the
 * list that the client committed to, and grants the output key as its owner's delegate.
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
  const prompt = await ensureActive(deps, job, assignment, term)
  if (prompt !== 'allowed') return { prompt, done: prompt !== 'missing' }
  const output = job.result?.body
  if (output === undefined) return { prompt, done: true }
  const readable = await ensureReadable(deps, output.outHighHandle, output.outLowHandle, node, term)
  // A refusal is final: the verifier will find the output unavailable and say so.
  return { prompt, done: readable !== 'missing' }
}

/** A member of the list may read the prompt key, by the commitment that its client made; before that commitment nobody is offered anything. */
async function ensureActive(
  { chain, log }: Dependencies,
  { id: jobId, kpHighHandle: high, kpLowHandle: low, list }: Job,
  { node, position }: Assignment,
  term: AbortSignal,
): Promise<'allowed' | 'missing' | 'refused' | 'ended'> {
  const [{ commitment, used, ended }, isAllowed] = await Promise.all([
    chain.listOf(high, low),
    isReadable(chain, high, low, node),
  ])
  if (commitment === undefined) return ended ? 'ended' : 'missing'
  if (commitment !== list.commitment) {
    log.warn('the client committed to another list', { jobId, commitment })
    return 'ended'
  }
  if (isAllowed) return 'allowed'
  // The chain has let it in, and an RPC server lags behind: another activation would change nothing.
  if ((used & (1 << position)) !== 0) return 'missing'
  if (ended || list.activator !== chain.coordinator) return 'ended'
  const { members, until } = list
  const outcome = await chain.activate({ high, low, jobId, members, until, position }, term)
  if (outcome === 'refused') log.warn('access refused: the node is not active on chain', { node })
  if (outcome !== 'granted') return outcome
  log.info('node activated', { jobId, node })
  return (await isReadable(chain, high, low, node)) ? 'allowed' : 'missing'
}

async function ensureReadable(
  deps: Dependencies,
  high: bigint,
  low: bigint,
  node: Address,
  term: AbortSignal,
): Promise<'allowed' | 'missing' | 'refused'> {
  if (await isReadable(deps.chain, high, low, node)) return 'allowed'
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
  return (await isReadable(deps.chain, high, low, node)) ? 'allowed' : 'missing'
}

async function isReadable(chain: Chain, high: bigint, low: bigint, node: Address) {
  const allowed = await Promise.all([chain.isAllowed(high, node), chain.isAllowed(low, node)])
  return allowed.every(Boolean)
}
