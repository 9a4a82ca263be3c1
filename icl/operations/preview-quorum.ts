import { z } from 'zod'
import { Address, Cid, ComparatorId, Hash32, ModelId } from '../../lib/codecs.ts'
import { sha256Hex, utf8 } from '../../lib/digest.ts'
import { type Draw, drawFrom, drawNodes, freeNodes } from '../../lib/draw.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Demand } from '../rules/eligibility.ts'
import { countJobsThisEpoch, drawSeed } from './draw-seed.ts'
import { findUnfit, loadCandidates, loadEligible } from './load-pool.ts'

/** How long a preview is valid, in milliseconds. */
export const previewMs = 600_000
const tokenPurpose = 'svc-preview'

/** What a preview token holds; only the ICL that sealed it can read it. */
const PreviewToken = z.object({
  id: z.string(),
  client: Address.optional(),
  modelId: ModelId,
  minTier: z.int(),
  /** Of the demand that the nodes had to meet. */
  comparator: ComparatorId.optional(),
  /** The replica that holds the pool. */
  drawnBy: z.string(),
  expiresAt: z.int(),
  draw: z.object({
    message: z.string(),
    signature: z.string(),
    poolDigest: Hash32,
    chosen: z.array(Address).min(3),
    poolCid: Cid,
  }),
})
export type PreviewToken = z.output<typeof PreviewToken>

type Query = {
  readonly client?: Address | undefined
  readonly model_id?: string | undefined
  readonly comparator?: ComparatorId | undefined
  readonly min_tier: number
  readonly verifier_count: number
}

/** Draws a quorum and seals it into a token that makes a submission use it (spec 4). */
export async function previewQuorum(deps: Dependencies, query: Query) {
  try {
    const { model, draw } = await drawQuorum(deps, query)
    const unfit = await findUnfit(deps, draw.chosen, demandOf(deps, query, model))
    if (unfit === undefined) return await sealPreview(deps, query, model, draw)
  } catch (error) {
    if (!(error instanceof ProblemError && error.code === 'not-enough-nodes')) throw error
  }
  // What was remembered of the pool is a moment old, and no longer true.
  deps.pool.forget()
  const { model, draw } = await drawQuorum(deps, query)
  return sealPreview(deps, query, model, draw)
}

/** A job that names no comparator gets the default, so that its nodes have to be able to do that one. */
const demandOf = (
  { network }: Dependencies,
  { min_tier: minTier, comparator }: Query,
  modelId: string | undefined,
): Demand => ({
  modelId,
  minTier,
  comparator: comparator ?? (modelId === undefined ? undefined : network.default_comparator),
})

async function drawQuorum(deps: Dependencies, query: Query) {
  const modelId = query.model_id ?? (await mostServedModel(deps, query.min_tier))
  const count = 1 + query.verifier_count
  const free = freeNodes(await loadCandidates(deps, demandOf(deps, query, modelId)))
  const others = free.filter(({ address }) => address !== query.client)
  if (modelId === undefined || others.length < count) {
    throw new ProblemError(
      'not-enough-nodes',
      `There are not enough active nodes for the requested quorum: ${count} are needed, ${others.length} can serve ${
        modelId ?? 'a model'
      } now`,
    )
  }
  const seed = await drawSeed(deps, {
    client: query.client,
    jobId: undefined,
    ordinal: query.client === undefined ? 0 : await countJobsThisEpoch(deps, query.client),
    modelId,
    minTier: query.min_tier,
    count,
  })
  // Nothing is written for a preview: whoever asks for one need not say who they are.
  const { root, digest } = await deps.pool.held.hold(free)
  const draw =
    others.length === free.length
      ? drawFrom(seed, { free, digest }, count)
      : drawNodes(
          seed,
          others.map((node) => ({ ...node, busy: false })),
          count,
        )
  return { model: modelId, draw: { ...draw, poolCid: root } }
}

async function sealPreview(
  deps: Dependencies,
  query: Query,
  modelId: string,
  draw: Draw & { readonly poolCid: string },
) {
  const { comparator } = demandOf(deps, query, modelId)
  const [leader, ...verifiers] = draw.chosen
  if (leader === undefined) throw new ProblemError('not-enough-nodes', 'Nobody was drawn')
  const expiresAt = deps.clock.now() + previewMs
  const content: z.input<typeof PreviewToken> = {
    // One draw is one job, however often it is asked for.
    id: await sha256Hex(utf8(draw.message)),
    ...(query.client !== undefined && { client: query.client }),
    modelId,
    minTier: query.min_tier,
    ...(comparator !== undefined && { comparator }),
    drawnBy: deps.replicaId,
    expiresAt,
    draw: { ...draw, chosen: [...draw.chosen] },
  }
  return {
    leader,
    verifiers,
    model_id: modelId,
    preview: await deps.keys.sealToken(tokenPurpose, content),
    expires_at: toSeconds(expiresAt),
  }
}

/** Reads a preview token; throws `preview-invalid` for any that is not this client's, or has expired. */
export async function openPreview(
  deps: Dependencies,
  token: string,
  client: Address,
): Promise<PreviewToken> {
  const opened = PreviewToken.safeParse(await deps.keys.openToken(tokenPurpose, token))
  if (!opened.success) throw new ProblemError('preview-invalid', 'The preview token is not valid')
  if (opened.data.client !== client) {
    throw new ProblemError('preview-invalid', 'The preview was not made for this client')
  }
  if (opened.data.expiresAt <= deps.clock.now()) {
    throw new ProblemError('preview-invalid', 'The preview has expired; ask for a new one')
  }
  return opened.data
}

async function mostServedModel(deps: Dependencies, minTier: number): Promise<string | undefined> {
  const models = await countModels(deps, minTier)
  return models.toSorted((a, b) => b.nodes - a.nodes)[0]?.model_id
}

/** The models served now, by name, with how many nodes serve each. */
export async function countModels(deps: Dependencies, minTier = 0) {
  const eligible = await loadEligible(deps, { minTier })
  const counts = new Map<string, number>()
  for (const id of eligible.flatMap(({ node }) => [...new Set(node.modelIds)])) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return [...counts]
    .map(([model_id, nodes]) => ({ model_id, nodes }))
    .sort((a, b) => (a.model_id < b.model_id ? -1 : 1))
}
