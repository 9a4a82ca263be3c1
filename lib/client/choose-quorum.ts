import type { z } from 'zod'
import type { Address, ComparatorId } from '../codecs.ts'
import { ProblemError } from '../problem.ts'
import type { QuorumPreview } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import type { ClientContext } from './context.ts'

/** The nodes that a job would run on, with the token that makes it run on them. */
export type Preview = z.output<typeof QuorumPreview>

/** What the client asks of a quorum. */
export type QuorumWish = {
  readonly model: string
  readonly minTier: number
  readonly verifierCount: number
  readonly comparator?: ComparatorId | undefined
}

/** Asks the ICL for a quorum; throws SvcError `model-unknown` or `not-enough-nodes`, both saying what is served, or `quorum-untrusted`. */
export async function chooseQuorum(
  { api, address, chain }: ClientContext,
  { model, minTier, verifierCount, comparator }: QuorumWish,
  signal?: AbortSignal,
): Promise<Preview> {
  const query = {
    client: address,
    model_id: model,
    min_tier: minTier,
    verifier_count: verifierCount,
    ...(comparator && { comparator }),
  }
  try {
    const preview = await api.previewQuorum({ query }, { signal, attempts: 3 })
    checkPreview(preview, query)
    await checkStakes(chain, preview, minTier, signal)
    return preview
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'not-enough-nodes') throw error
    const { models } = await api.getModels({}, { signal, attempts: 3 })
    throw shortage(models, model, 1 + verifierCount, error)
  }
}

/** The ICL may draw only nodes that have something to lose: they are about to get the prompt's key. */
async function checkStakes(
  chain: ClientContext['chain'],
  { leader, verifiers }: Preview,
  minTier: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const node of [leader, ...verifiers]) {
    const { active, modelTiers } = await chain.nodeOf(node, signal)
    if (active && modelTiers.some((tier) => tier >= minTier)) continue
    throw untrusted(`${node}, which is not active on chain for that tier`)
  }
}

/** What the ICL chose must be what was asked for. */
function checkPreview(
  { leader, verifiers, model_id: model }: Preview,
  asked: { readonly client: Address; readonly model_id: string; readonly verifier_count: number },
): void {
  const nodes = new Set([leader, ...verifiers])
  if (model !== asked.model_id) throw untrusted(`the model ${model} instead of ${asked.model_id}`)
  if (nodes.size !== 1 + asked.verifier_count || verifiers.length !== asked.verifier_count) {
    throw untrusted(`another number of nodes than the ${1 + asked.verifier_count} asked for`)
  }
  if (nodes.has(asked.client)) throw untrusted('this very client as a node of its own job')
}

const untrusted = (what: string): SvcError =>
  new SvcError('quorum-untrusted', `The ICL chose ${what}`, {
    hint: 'Do not use this ICL: it may hand the prompt to whom it likes.',
  })

function shortage(
  models: readonly { readonly model_id: string; readonly nodes: number }[],
  model: string,
  needed: number,
  cause: ProblemError,
): SvcError {
  const served = models.filter(({ nodes }) => nodes > 0)
  const serving = served.find(({ model_id }) => model_id === model)?.nodes ?? 0
  if (serving === 0 && served.length > 0) {
    const names = served.map(({ model_id }) => model_id).join(', ')
    return new SvcError('model-unknown', `No node serves ${model}`, {
      hint: `Choose a model that is served: ${names}.`,
      cause,
    })
  }
  const count = serving === 1 ? '1 node serves' : `${serving} nodes serve`
  return new SvcError(
    'not-enough-nodes',
    `Not enough nodes: ${count} ${model} now, and a job needs ${needed} (1 leader and ${needed - 1} verifiers)`,
    {
      hint: 'Wait until more nodes are active, or start more.',
      retryable: true,
      cause,
    },
  )
}
