import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { mapInSlices } from '../async/slices.ts'
import { type Demand, ineligibleReasons, type Withdrawal } from '../rules/eligibility.ts'
import type { PoolSources } from './load-pool.ts'

/** How often a node tries a provider that refused it, in milliseconds, and the wait for a rate limit that names none. */
const againMs = 60_000

/** Returns what nodes have withdrawn that meet a demand otherwise, node by node. */
export async function loadWithdrawn(
  { pool, outages, clock }: PoolSources,
  demand: Demand,
): Promise<readonly { readonly address: Address; readonly withdrawn: readonly Withdrawal[] }[]> {
  const [nodes, known] = await Promise.all([pool.nodes(), outages.known()])
  const now = clock.now()
  return mapInSlices(clock, nodes, ({ node, chain }) => {
    const { address, withdrawn = [] } = node
    if (withdrawn.length === 0) return []
    const reasons = ineligibleReasons(node, chain, demand, now, known)
    return reasons.every((reason) => reason === 'no-model') ? [{ address, withdrawn }] : []
  })
}

/**
 * Returns the refusal of a job that lacks nodes of these, when as many have withdrawn its model: `model-limited`, with the time after which
 * enough may offer it again, or `model-withdrawn`. Undefined when other nodes are lacking.
 */
export async function withdrawnProblem(
  deps: PoolSources,
  demand: Demand,
  lacking: number,
  isOfJob: (node: Address) => boolean = () => true,
): Promise<ProblemError | undefined> {
  const { modelId } = demand
  const now = deps.clock.now()
  const found = (await loadWithdrawn(deps, demand)).flatMap(({ address, withdrawn }) => {
    const own = withdrawn.find((one) => one.modelId === modelId)
    return own && isOfJob(address) ? [own] : []
  })
  if (found.length < lacking) return undefined
  const waits = found
    .filter(({ reason }) => reason === 'provider-rate-limited')
    .map(({ until = now + againMs }) => Math.max(Math.ceil((until - now) / 1000), 1))
    .toSorted((a, b) => a - b)
  const wait = waits[Math.min(lacking, waits.length) - 1]
  const many = found.length === 1 ? '1 node does' : `${found.length} nodes do`
  if (wait === undefined) {
    const why = `${many} not offer ${modelId} now: their providers refuse the key, have no credit left, or do not know the model`
    return new ProblemError('model-withdrawn', why, { retryAfterSeconds: againMs / 1000 })
  }
  const why = `${many} not offer ${modelId} now: the rate limits of their providers are used up. Ask again in ${wait} s`
  return new ProblemError('model-limited', why, { retryAfterSeconds: wait })
}
