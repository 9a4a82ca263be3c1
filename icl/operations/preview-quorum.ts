import type { z } from 'zod'
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { candidatesOf } from '../../lib/list.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { takesOf } from '../../lib/prompt-needs.ts'
import type { QuorumPreviewQuery } from '../../lib/schemas/list.ts'
import { PromptPart } from '../../lib/schemas/prompt-needs.ts'
import { setNewest } from '../async/set-newest.ts'
import type { Dependencies } from '../dependencies.ts'
import { hasFreeSlot, loadEligible, loadPoolNodes, mapPool } from '../pool/load-pool.ts'
import type { Pool, PublishedPool } from '../pool/pool.ts'
import { tooFewProblem, withdrawnOf, withdrawnProblem } from '../pool/withdrawn.ts'
import type { Demand } from '../rules/eligibility.ts'
import { currentPool, replacePool } from './publish-pool.ts'

type Query = z.output<typeof QuorumPreviewQuery>

/** Returns the pool to name in the terms of a job, and how many of its nodes can serve the job now (spec 4). */
export async function previewQuorum(deps: Dependencies, query: Query, drawsWaiting: number) {
  const { min_tier } = query
  const quorum = 1 + query.verifier_count
  let pool = await currentPool(deps)
  const demand = {
    model_id: query.model_id ?? (await mostServedModel(deps, min_tier, quorum)),
    min_tier,
    comparator: query.comparator ?? deps.network.default_comparator,
  }
  const { model_id, comparator } = demand
  const find = (nodes: readonly PoolNode[]) => candidatesOf(nodes, demand, undefined)
  const asked: Demand = { modelId: model_id, minTier: min_tier, comparator }
  const { nodes } = pool
  let active = await ofLastSecond(deps, pool, JSON.stringify(demand), () =>
    countActive(deps, find(nodes), asked),
  )
  if (active.nodes < quorum) {
    // The remembered pool may be a moment old, and the published one up to 30 s.
    deps.pool.forget()
    const all = await loadPoolNodes(deps)
    const left = find(all).length
    if (left < quorum) {
      const withdrawn = await withdrawnProblem(deps, asked, quorum - left)
      const tier = min_tier > 0 ? ` at tier ${min_tier} or higher` : ''
      const served = `${model_id}${tier} by ${comparator}`
      const why = `${left} of the ${all.length} active nodes serve ${served}, and ${quorum} are needed`
      throw withdrawn ?? tooFewProblem(all.length, quorum, why)
    }
    pool = await replacePool(deps)
    active = await countActive(deps, find(pool.nodes), asked)
  }
  const { wallet } = await deps.blobs.rooms()
  return {
    ...{ model_id, comparator, pool_cid: pool.cid },
    ...active,
    draws_waiting: drawsWaiting,
    prompt_room_bytes: wallet.openBytes,
  }
}

const countedMs = 1_000
const mostCounts = 64
/** `at` is when it was counted; undefined while it is. */
type Count = { at?: MonotonicMs; readonly result: Promise<unknown> }
const counts = new WeakMap<object, Map<string, Count>>()

/** Returns the result of `count` by name, for one published pool or for all, at most a second old: counting looks at every node, and anyone may ask. */
function ofLastSecond<T>(
  { clock }: Dependencies,
  pool: PublishedPool | Pool['published'],
  name: string,
  count: () => Promise<T>,
): Promise<T> {
  const known = counts.get(pool) ?? new Map<string, Count>()
  counts.set(pool, known)
  const last = known.get(name)
  if (last && (last.at === undefined || elapsedSince(clock, last.at) < countedMs)) {
    // The other request may have had less time left.
    return (last.result as Promise<T>).catch(count)
  }
  const own: Count = { result: count() }
  setNewest(known, name, own, mostCounts)
  own.result.then(
    () => {
      own.at = clock.monotonic()
    },
    () => known.delete(name),
  )
  return own.result as Promise<T>
}

/** Counts the nodes of a published pool that can serve a demand now, and how many of those have a free slot. */
async function countActive(deps: Dependencies, nodes: readonly PoolNode[], demand: Demand) {
  const [eligible, busy] = await Promise.all([loadEligible(deps, demand), deps.pool.busy()])
  const published = new Set(nodes.map(({ address }) => address))
  const active = eligible.filter(({ node }) => published.has(node.address))
  return {
    nodes: active.length,
    free_nodes: active.filter((entry) => hasFreeSlot(entry, busy)).length,
  }
}

async function mostServedModel(deps: Dependencies, minTier: number, quorum: number) {
  const models = await countModels(deps, minTier)
  const [most] = models.toSorted((a, b) => b.nodes - a.nodes)
  if (most) return most.model_id
  const { length } = await loadEligible(deps, { minTier: 0 })
  const why = `${length} nodes are active, and none serves a model at tier ${minTier} or higher`
  throw tooFewProblem(length, quorum, why)
}

type ModelCount = { nodes: number; withdrawn: number; takes: Partial<Record<PromptPart, number>> }

/** Returns the models that are served, by name, with the numbers of nodes that offer each, and of those that do not: at most a second old. */
export const countModels = (deps: Dependencies, minTier = 0) =>
  ofLastSecond(deps, deps.pool.published, `${minTier}`, () => countModelsNow(deps, minTier))

async function countModelsNow(deps: Dependencies, minTier: number) {
  const counts = new Map<string, ModelCount>()
  const countOf = (id: string) => {
    const count = counts.get(id) ?? { nodes: 0, withdrawn: 0, takes: {} }
    counts.set(id, count)
    return count
  }
  await mapPool(deps, { minTier }, ({ node }, reasons) => {
    for (const id of new Set(withdrawnOf(node, reasons).map(({ modelId }) => modelId)))
      countOf(id).withdrawn += 1
    if (reasons.length > 0) return []
    for (const id of new Set(node.modelIds)) {
      const count = countOf(id)
      count.nodes += 1
      const names = takesOf(node.takes, id)?.parts ?? []
      for (const part of PromptPart.options.filter((known) => names.includes(known))) {
        count.takes[part] = (count.takes[part] ?? 0) + 1
      }
    }
    return []
  })
  return [...counts]
    .map(([model_id, { nodes, withdrawn, takes }]) => ({
      model_id,
      nodes,
      ...(withdrawn > 0 && { withdrawn }),
      ...(Object.keys(takes).length > 0 && { takes }),
    }))
    .sort((a, b) => (a.model_id < b.model_id ? -1 : 1))
}
