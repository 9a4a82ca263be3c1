import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Demand, ineligibleReasons, Node, Withdrawal } from '../rules/eligibility.ts'
import { mapPool, type PoolSources } from './load-pool.ts'

/** How often a node tries a provider that refused it, in milliseconds, and the wait for a rate limit that names none. */
const againMs = 60_000
/** The longest Retry-After: one node's word must not keep clients away for a day. */
const longestWaitSeconds = 600

/** Returns what a node of the pool has withdrawn, if it meets the demand otherwise. `reasons` are all for which it cannot be drawn. */
export const withdrawnOf = (
  { withdrawn = [] }: Node,
  reasons: ReturnType<typeof ineligibleReasons>,
): readonly Withdrawal[] => (reasons.every((reason) => reason === 'no-model') ? withdrawn : [])

/** Returns the refusal of a job that lacks nodes: whether fewer are `active` at all than are `needed`, or too few of them serve what is asked for. */
export const tooFewProblem = (active: number, needed: number, why: string): ProblemError =>
  active < needed
    ? new ProblemError(
        'not-enough-nodes',
        `There are not enough active nodes for the requested quorum. ${why}`,
      )
    : new ProblemError('not-enough-serving', why)

/**
 * Returns the refusal of a job that lacks nodes of these, when as many have withdrawn its model, with the time after which enough may offer
 * it again: `model-limited`, or `model-withdrawn` when fewer are limited than are lacking. Undefined when other nodes are lacking.
 */
export async function withdrawnProblem(
  deps: PoolSources,
  demand: Demand,
  lacking: number,
  isOfJob: (node: Address) => boolean = () => true,
): Promise<ProblemError | undefined> {
  const { modelId } = demand
  const now = deps.clock.now()
  const found = await mapPool(deps, demand, ({ node }, reasons) => {
    const own = withdrawnOf(node, reasons).find((one) => one.modelId === modelId)
    return own && isOfJob(node.address) ? [own] : []
  })
  if (found.length < lacking) return undefined
  const waits = found.map(({ until = now + againMs }) =>
    Math.max(Math.ceil((until - now) / 1000), 1),
  )
  const wait = Math.max(...waits.toSorted((a, b) => a - b).slice(0, lacking))
  const isLimited =
    found.filter(({ reason }) => reason === 'provider-rate-limited').length >= lacking
  const why = isLimited ? '' : ', refuse the key, have no credit left, or do not know the model'
  const many = found.length === 1 ? '1 node does' : `${found.length} nodes do`
  const detail = `${many} not offer ${modelId} now: their providers limit them${why}. Ask again in ${wait} s`
  return new ProblemError(isLimited ? 'model-limited' : 'model-withdrawn', detail, {
    retryAfterSeconds: Math.min(wait, longestWaitSeconds),
  })
}
