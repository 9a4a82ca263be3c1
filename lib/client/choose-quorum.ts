import type { z } from 'zod'
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
}

/** Asks the ICL for a quorum; throws SvcError `model-unknown` or `not-enough-nodes`, both saying what is served, or `quorum-untrusted`. */
export async function chooseQuorum(
  { api, address, chain }: ClientContext,
  { model, minTier, verifierCount }: QuorumWish,
  signal?: AbortSignal,
): Promise<Preview> {
  const query = {
    client: address,
    model_id: model,
    min_tier: minTier,
    verifier_count: verifierCount,
  }
  try {
    const preview = await api.previewQuorum({ query }, { signal, attempts: 3 })
    await checkStakes(chain, preview, signal)
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
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const node of new Set([leader, ...verifiers])) {
    if (await chain.isActive(node, signal)) continue
    throw new SvcError('quorum-untrusted', `The ICL chose ${node}, which is not active on chain`, {
      hint: 'Do not use this ICL: it may hand the prompt to nodes without a stake.',
    })
  }
}

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
