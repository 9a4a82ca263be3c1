import type { z } from 'zod'
import { defaultMaxAnswers, type QuotaRequest, quotaOf } from '../agreement-rule.ts'
import type { Address, ComparatorId } from '../codecs.ts'
import { toBase64Url } from '../digest.ts'
import { candidatesOf } from '../list.ts'
import type { PoolNode } from '../pool-line.ts'
import { ProblemError } from '../problem.ts'
import { takesOf, unmetNeeds } from '../prompt-needs.ts'
import type { QuorumPreview } from '../schemas/list.ts'
import type { Network } from '../schemas/network.ts'
import type { Models } from '../schemas/nodes.ts'
import type { PromptNeeds } from '../schemas/prompt-needs.ts'
import { AgreementRule, maxListLength, type Terms } from '../schemas/terms.ts'
import { SvcError } from '../svc-error.ts'
import { comparePool, type PoolComparison, readPublished } from './compare-pool.ts'
import { type ClientContext, patient } from './context.ts'

// Nodes on the list beyond the most answers, in reserve for nodes that fail.
const spareNodes = 2

/** What a client requires of a job's nodes, and how many have to agree. */
export type QuorumWish = {
  readonly model: string
  readonly minTier: number
  readonly verifierCount: number
  readonly comparator?: ComparatorId | undefined
  /** The rule for how many answers have to match one another; `three` when left out. */
  readonly rule?: AgreementRule | undefined
  /** How many others each agreeing answer has to match, if that is more than the rule requires; 1 when left out. */
  readonly minMatches?: number | undefined
  /** The most answers of the job; when left out, the rule's number, or the size of the quorum if that is larger. */
  readonly maxAnswers?: number | undefined
  /** The most nodes that may ever read the prompt; two more than the answers when left out, 16 at most. */
  readonly listLength?: number | undefined
  /** What the prompt needs of a model (`needsOf`). `infer` derives it from the prompt. */
  readonly needs?: PromptNeeds | undefined
}

/** The options that fix a job's terms: `minTier` is 0 when left out, `verifierCount` 2. */
export type TermsOptions = Omit<QuorumWish, 'minTier' | 'verifierCount'> & {
  readonly minTier?: number
  readonly verifierCount?: number
}

/** Returns the wish of these options, with defaults filled in. */
export const wishOf = ({ minTier = 0, verifierCount = 2, ...rest }: TermsOptions): QuorumWish => ({
  minTier,
  verifierCount,
  ...rest,
})

/** Returns the terms of a wish, without pool and salt. Throws SvcError `list-length-wrong` or `quota-refused`. */
export function demandOf(network: Network, wish: QuorumWish): Omit<Terms, 'pool_cid' | 'salt'> {
  const quorum = 1 + wish.verifierCount
  const { rule = 'three', minMatches = 1 } = wish
  if (!AgreementRule.options.includes(rule)) {
    const hint = `Name one of ${AgreementRule.options.join(', ')}.`
    throw new SvcError('quota-refused', `There is no rule ${rule}`, { hint })
  }
  const maxAnswers = wish.maxAnswers ?? Math.max(defaultMaxAnswers[rule], quorum)
  const listLength = wish.listLength ?? Math.min(maxAnswers + spareNodes, maxListLength)
  checkLength(listLength, quorum)
  checkQuota({ rule, quorum, maxAnswers, minMatches, listLength }, 'Ask for another rule, or less.')
  return {
    icl_origin: new URL(network.public_url).origin,
    model_id: wish.model,
    min_tier: wish.minTier,
    comparator: wish.comparator ?? network.default_comparator,
    ...(wish.needs && { needs: wish.needs }),
    rule,
    quorum,
    max_answers: maxAnswers,
    min_matches: minMatches,
    list_length: listLength,
  }
}

/** A job's terms, and the nodes of the pool that they name. */
export type ChosenTerms = {
  readonly terms: Terms
  readonly pool: readonly PoolNode[]
  /** What the chain says of the pool. */
  readonly compared: PoolComparison
}

/**
 * Makes a job's terms from the ICL's published pool, and reads that pool. Throws SvcError `model-unknown`, `not-enough-nodes`,
 * `not-enough-serving`, `model-limited`, `model-withdrawn`, `prompt-not-supported`, `pool-inactive`, `pool-unstaked`, `list-length-wrong`,
 * `quota-refused`, `quorum-untrusted`, `no-room` when the ICL has no room for a prompt of `sealedBytes`, or an error of `readPool`.
 */
export async function chooseTerms(
  context: ClientContext,
  wish: QuorumWish,
  signal?: AbortSignal,
  sealedBytes = 1,
): Promise<ChosenTerms> {
  const { network, random } = context
  const demand = demandOf(network, wish)
  const { comparator, quorum } = demand
  const preview = await previewOf(context, { ...wish, comparator }, signal)
  if (preview.prompt_room_bytes < sealedBytes) throw noRoom(preview.prompt_room_bytes, sealedBytes)
  const salt = toBase64Url(random.bytes(32))
  const terms: Terms = { ...demand, pool_cid: preview.pool_cid, salt }
  const nodes = await readPublished(context, terms.pool_cid, signal)
  const { length } = candidatesOf(nodes, terms, context.address)
  if (length < quorum) throw tooFewFor(terms, nodes, context.address)
  const { rule, max_answers: maxAnswers, min_matches: minMatches } = terms
  const listLength = Math.min(length, terms.list_length)
  checkQuota(
    { rule, quorum, maxAnswers, minMatches, listLength },
    `Ask for less, or wait for more nodes: ${length} of the pool can do the job.`,
  )
  const compared = await comparePool(context, terms.pool_cid, nodes, signal)
  return { terms, pool: nodes, compared }
}

const noRoom = (roomBytes: number, sealedBytes: number): SvcError =>
  new SvcError(
    'no-room',
    `The ICL has room for an encrypted prompt of ${roomBytes} bytes, and this one has ${sealedBytes}. Nothing was paid`,
    { hint: 'Try again in a few minutes, or with a shorter prompt.', retryable: true },
  )

function checkLength(length: number, quorum: number): void {
  if (Number.isInteger(length) && length >= quorum && length <= maxListLength) return
  throw new SvcError('list-length-wrong', `A list of ${length} nodes does not fit the job`, {
    hint: `Ask for a list of ${quorum} (one for each first answer) to ${maxListLength} nodes.`,
  })
}

/** Refuses, before anything is paid, a number of answers that the list cannot give. */
function checkQuota(request: QuotaRequest, hint: string): void {
  const result = quotaOf(request)
  if (result.outcome === 'quota') return
  throw new SvcError('quota-refused', `Such a job cannot agree: ${result.why}`, { hint })
}

const shortages: ReadonlySet<string> = new Set(['not-enough-nodes', 'not-enough-serving'])

/** Returns the ICL's pool for a wish. It must be for the model and comparator that were asked for. */
async function previewOf(
  { api }: ClientContext,
  wish: QuorumWish & { readonly comparator: ComparatorId },
  signal: AbortSignal | undefined,
): Promise<z.output<typeof QuorumPreview>> {
  const { model, comparator, minTier, verifierCount } = wish
  const query = {
    ...{ model_id: model, comparator },
    ...{ min_tier: minTier, verifier_count: verifierCount },
  }
  try {
    const preview = await api.previewQuorum({ query }, { ...patient, signal })
    if (preview.model_id === model && preview.comparator === comparator) return preview
  } catch (error) {
    if (!(error instanceof ProblemError) || !shortages.has(error.code)) throw error
    const { models } = await api.getModels({}, { ...patient, signal })
    throw shortage(models, wish, 1 + verifierCount, error)
  }
  throw new SvcError('quorum-untrusted', 'The ICL answered about another model or comparator', {
    hint: 'Do not use this ICL: it does not do what it is asked for.',
  })
}

/** Thrown when too few nodes take what the prompt holds. Nothing was paid. */
export class PromptNotTakenError extends SvcError {
  /** What some of the nodes lack: names of PromptPart, and sizes in words. */
  readonly lacking: readonly string[]

  constructor(message: string, hint: string, lacking: readonly string[]) {
    super('prompt-not-supported', message, { hint })
    this.lacking = lacking
  }
}

function shortage(
  models: z.output<typeof Models>['models'],
  { model, minTier, comparator }: QuorumWish,
  needed: number,
  cause: ProblemError,
): SvcError {
  const served = models.filter(({ nodes, withdrawn = 0 }) => nodes + withdrawn > 0)
  const own = served.find(({ model_id }) => model_id === model)
  if (!own && served.length > 0) {
    const names = served.map(({ model_id }) => model_id).join(', ')
    return new SvcError('model-unknown', `No node serves ${model}`, {
      hint: `Choose a model that is served: ${names}.`,
      cause,
    })
  }
  const serving = own?.nodes ?? 0
  if (serving < needed) return tooFew(cause.code, model, serving, needed, cause)
  const tier = minTier > 0 ? `have tier ${minTier} or higher and ` : ''
  return new SvcError(
    cause.code,
    `Not enough nodes: ${serving} serve ${model}, but fewer than ${needed} of them ${tier}compare by ${comparator}`,
    {
      hint: `Ask for ${minTier > 0 ? 'a lower tier or ' : ''}another comparator, or wait until more such nodes are active.`,
      retryable: true,
      cause,
    },
  )
}

/** Says whether too few nodes serve the model, or too few of them take the prompt. In the second case it names the models that do. */
function tooFewFor(terms: Terms, pool: readonly PoolNode[], client: Address): SvcError {
  const { model_id: model, quorum, needs } = terms
  const { needs: _, ...plain } = terms
  const serving = candidatesOf(pool, plain, client)
  if (serving.length < quorum) {
    const tier = terms.min_tier > 0 ? ` at tier ${terms.min_tier} or higher` : ''
    const code = pool.length < quorum ? 'not-enough-nodes' : 'not-enough-serving'
    return tooFew(code, `${model}${tier}`, serving.length, quorum)
  }
  const unmet = serving.map(({ takes }) => unmetNeeds(takesOf(takes, model), needs))
  const taking = unmet.filter((lacks) => lacks.length === 0).length
  const models = [...new Set(pool.flatMap((node) => node.models))]
  const others = models.filter(
    (other) => candidatesOf(pool, { ...terms, model_id: other }, client).length >= quorum,
  )
  const lacking = [...new Set(unmet.flat())]
  return new PromptNotTakenError(
    `Not enough nodes take the prompt: of the ${serving.length} that serve ${model}, ${taking} take ${lacking.join(', ')}, and a job needs ${quorum}`,
    others.length > 0
      ? `Leave it out, or choose a model that takes it: ${others.join(', ')}.`
      : 'Leave it out: no model here takes it.',
    lacking,
  )
}

function tooFew(
  code: string,
  model: string,
  serving: number,
  needed: number,
  cause?: ProblemError,
): SvcError {
  const count = serving === 1 ? '1 node serves' : `${serving} nodes serve`
  return new SvcError(code, `Not enough nodes: ${count} ${model} now, and a job needs ${needed}`, {
    hint: 'Wait until more nodes are active, or start more.',
    retryable: true,
    cause,
  })
}
