import type { Address } from '../../lib/codecs.ts'
import type { Chain } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { assignmentOf, isSettled, type Job } from '../rules/job.ts'

/** Whether a node can read the prompt key of its job. `ended`: its client gives no other node access. */
type Access = 'allowed' | 'missing' | 'refused' | 'ended' | 'not-needed'

/** Makes sure that a node may read the prompt key. The coordinator activates members of the list that the client committed to. */
export async function ensureAccess(
  { chain, log }: Dependencies,
  job: Job,
  node: Address,
  fence: number,
  term: AbortSignal,
): Promise<Access> {
  const { id: jobId, kpHighHandle: high, kpLowHandle: low, list } = job
  const assignment = assignmentOf(job, node)
  const isWaiting = assignment?.fence === fence && assignment.status === 'awaiting-grant'
  if (isSettled(job.phase) || !isWaiting) return 'not-needed'
  const { position } = assignment
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
  // The chain has activated it, and an RPC server lags behind. Another activation would change nothing.
  if ((used & (1 << position)) !== 0) return 'missing'
  if (ended || list.activator !== chain.coordinator) return 'ended'
  const { members, until } = list
  const outcome = await chain.activate({ high, low, jobId, members, until, position }, term)
  if (outcome === 'refused') log.warn('access refused: the node is not active on chain', { node })
  if (outcome !== 'granted') return outcome
  log.info('node activated', { jobId, node })
  return (await isReadable(chain, high, low, node)) ? 'allowed' : 'missing'
}

async function isReadable(chain: Chain, high: bigint, low: bigint, node: Address) {
  const allowed = await Promise.all([chain.isAllowed(high, node), chain.isAllowed(low, node)])
  return allowed.every(Boolean)
}
