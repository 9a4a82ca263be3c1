import { z } from 'zod'
import { Address, ComparatorId, ModelId, ModelTier } from './codecs.ts'
import type { Weighted } from './draw.ts'
import { type Takes, takesOf } from './prompt-needs.ts'
import { Amount, ModelPrice } from './schemas/prices.ts'
import { ModelTakes, PromptPart } from './schemas/prompt-needs.ts'
import { SvcError } from './svc-error.ts'

/** A node of a published pool: what it can be drawn for, and its weight. Each list is ordered, without repeats, and not empty. */
export type PoolNode = Weighted & {
  readonly tiers: readonly number[]
  readonly models: readonly string[]
  /** For each model that takes more than a short conversation, in the order of models; left out when there are none. */
  readonly takes?: readonly ModelTakes[]
  /** What it asks for, of each model with a price, likewise. No node has prices yet. */
  readonly asks?: readonly Ask[]
  readonly comparators: readonly ComparatorId[]
  /** What it asks for a delivery. */
  readonly delivery?: bigint
}

/** The error of a pool that does not hold. */
export const poolInvalid = (why: string): SvcError =>
  new SvcError('pool-snapshot-invalid', `The pool snapshot does not hold: ${why}`, {
    hint: 'Fetch it again. If that changes nothing, its source has changed it.',
  })

/** Writes all of a node but its weight: address, tiers, models, comparators and what it asks for a delivery, with commas inside a list. */
export const lineOf = (node: Omit<PoolNode, 'weight'>): string => {
  const { address, tiers, models, takes, asks, comparators, delivery } = node
  const told = models.map((id) => modelText(id, takesOf(takes, id), askOf(asks, id)))
  const lists = [tiers, told, comparators].map((list) => list.join())
  return [address, ...lists, ...(delivery === undefined ? [] : [delivery])].join(' ')
}

/** Returns what a node asks for a model. */
export const askOf = (asks: readonly Ask[] | undefined, modelId: string): Ask | undefined =>
  asks?.find(({ model_id }) => model_id === modelId)

/** Writes a model, what it takes and what it costs: `ID=PART+PART:PROMPT_BYTES:OUTPUT_TOKENS@INPUT/OUTPUT`. An id has no `=`, but may have `@`. */
function modelText(id: string, takes: Takes | undefined, ask: Ask | undefined): string {
  const taken = takes
    ? `${takes.parts.join('+')}:${takes.max_prompt_bytes ?? ''}:${takes.max_output_tokens ?? ''}`
    : ''
  const told = taken + (ask ? `@${ask.input}/${ask.output}` : '')
  return told === '' ? id : `${id}=${told}`
}

type ModelRead = { readonly id: string; readonly takes?: unknown; readonly ask?: unknown }

function modelOf(text: string): ModelRead {
  const [id = '', told = '', ...rest] = text.split('=')
  const [taken = '', price, ...more] = told.split('@')
  if (rest.length > 0 || more.length > 0) return { id: text }
  const [parts, bytes, tokens] = taken.split(':')
  const takes = {
    model_id: id,
    parts: parts ? parts.split('+') : [],
    ...(bytes && { max_prompt_bytes: Number(bytes) }),
    ...(tokens && { max_output_tokens: Number(tokens) }),
  }
  const [input, output] = price?.split('/') ?? []
  const ask = { model_id: id, input, output }
  return { id, ...(taken !== '' && { takes }), ...(price !== undefined && { ask }) }
}

const mostTails = 1_024

/**
 * Returns a function that reads a node's line. It remembers what follows the address, because most nodes of a pool have that in common.
 * Throws SvcError `pool-snapshot-invalid`.
 */
export function createNodeReader(): (line: string) => Omit<PoolNode, 'weight'> {
  const tails = new Map<string, Omit<PoolNode, 'weight' | 'address'>>()
  return (line) => {
    const end = Math.max(line.indexOf(' '), 0)
    const known = tails.get(line.slice(end))
    const address = Address.safeParse(line.slice(0, end)).data
    // The case of letters is part of the spelling.
    if (known && address !== undefined && line.startsWith(address)) return { address, ...known }
    const { address: own, ...tail } = nodeOf(line)
    if (tails.size < mostTails) tails.set(line.slice(end), tail)
    return { address: own, ...tail }
  }
}

function nodeOf(line: string): Omit<PoolNode, 'weight'> {
  const [address, tiers, models, comparators, delivery] = line.split(' ')
  const told = models?.split(',').map(modelOf)
  const takes = told?.flatMap((model) => model.takes ?? [])
  const asks = told?.flatMap((model) => model.ask ?? [])
  const node = PoolLine.safeParse({
    address,
    tiers: tiers?.split(',').map(Number),
    models: told?.map(({ id }) => id),
    ...(takes?.length && { takes }),
    ...(asks?.length && { asks }),
    comparators: comparators?.split(','),
    ...(delivery !== undefined && { delivery }),
  })
  // A node has one spelling, because a pool's name is the hash of its text.
  if (!node.success || lineOf(node.data) !== line) {
    throw poolInvalid(`${JSON.stringify(line.slice(0, 80))} is no node`)
  }
  return node.data
}

const inOrder = <T>(item: z.ZodType<T, T>, most: number) =>
  z
    .array(item)
    .min(1)
    .max(most)
    .refine(
      (list) => list.every((one, at) => at === 0 || (list[at - 1] as T) < one),
      'is out of order',
    )

const PoolTakes = ModelTakes.extend({
  parts: z
    .array(PromptPart)
    .refine(
      (parts) => parts.every((part, at) => at === 0 || (parts[at - 1] as string) < part),
      'is out of order',
    ),
}).refine(
  ({ parts, max_prompt_bytes: bytes, max_output_tokens: tokens }) =>
    parts.length > 0 || bytes !== undefined || tokens !== undefined,
  'says nothing',
)

const Ask = z.object({ model_id: ModelId, ...ModelPrice })
type Ask = z.output<typeof Ask>

const PoolLine = z.object({
  address: Address,
  tiers: inOrder(ModelTier, 256),
  models: inOrder(ModelId, 64),
  takes: z.array(PoolTakes).exactOptional(),
  asks: z.array(Ask).exactOptional(),
  comparators: inOrder(ComparatorId, 16),
  delivery: Amount.exactOptional(),
})
