import type { Address } from '../../lib/codecs.ts'
import type { Candidate } from '../../lib/draw.ts'
import { weightOf } from '../../lib/reputation.ts'
import type { Dependencies } from '../dependencies.ts'
import type { PoolNode } from '../pool.ts'
import { type Demand, ineligibleReasons } from '../rules/eligibility.ts'
import { type Job, occupiesSlot } from '../rules/job.ts'
import type { OccupiedSlots } from '../store/store.ts'

/** What a job asks of a node. */
export const demandOf = ({ modelId, minTier, comparator }: Job): Demand => ({
  modelId,
  minTier,
  comparator,
})

/** Every node that meets a demand now; throws when the chain does not answer, because a pool that only looks empty ends jobs. */
export async function loadEligible(
  deps: Dependencies,
  demand: Demand,
): Promise<readonly PoolNode[]> {
  const [nodes, outages] = await Promise.all([deps.pool.nodes(), deps.outages.known()])
  const now = deps.clock.now()
  return nodes.filter(
    ({ node, chain }) => ineligibleReasons(node, chain, demand, now, outages).length === 0,
  )
}

/** The nodes that a demand can be drawn from, each with its weight and whether it is busy. */
export async function loadCandidates(
  deps: Dependencies,
  demand: Demand,
): Promise<readonly Candidate[]> {
  const [eligible, busy] = await Promise.all([loadEligible(deps, demand), deps.pool.busy()])
  return eligible.map(({ node }) => ({
    address: node.address,
    weight: weightOf(node.standing),
    busy: occupiedSlotsOf(busy.get(node.address)) >= node.capacity,
  }))
}

const occupiedSlotsOf = (busy: OccupiedSlots | undefined): number =>
  busy ? busy.offered + busy.claimed : 0

/** Whether a node can take an offer at this very moment. */
export type Fitness = 'fit' | 'busy' | 'gone'

/** Looks at one node afresh: has it a free slot, and does it still meet the demand? */
export async function checkFitness(
  deps: Dependencies,
  address: Address,
  demand: Demand,
): Promise<Fitness> {
  const [found, chain, jobs, outages] = await Promise.all([
    deps.store.findNode(address),
    deps.chain.nodeOf(address),
    deps.store.listJobsOfNode(address),
    deps.outages.known(),
  ])
  if (!found) return 'gone'
  const node = found.document
  const reasons = ineligibleReasons(node, chain, demand, deps.clock.now(), outages)
  if (reasons.length > 0) return 'gone'
  return countAssignments(jobs, address, occupiesSlot) < node.capacity ? 'fit' : 'busy'
}

/** The first of the nodes that cannot take an offer now, undefined when all can. */
export async function findUnfit(
  deps: Dependencies,
  addresses: readonly Address[],
  demand: Demand,
): Promise<Address | undefined> {
  const found = await Promise.all(addresses.map((address) => checkFitness(deps, address, demand)))
  return addresses[found.findIndex((fitness) => fitness !== 'fit')]
}

/** How many assignments of such a status a node has in these jobs. */
export const countAssignments = (
  jobs: readonly Job[],
  node: Address,
  counts: (status: Job['assignments'][number]['status']) => boolean,
): number =>
  jobs
    .flatMap(({ assignments }) => assignments)
    .filter((assignment) => assignment.node === node && counts(assignment.status)).length
