import { z } from 'zod'
import { Address, ComparatorId, ModelId, ModelTier } from './codecs.ts'
import type { Weighted } from './draw.ts'
import { type Takes, takesOf } from './prompt-needs.ts'
import { maxWeight } from './reputation.ts'
import { ModelTakes, PromptPart } from './schemas/prompt-needs.ts'
import { SvcError } from './svc-error.ts'

/** A node of a published pool: what it can be drawn for, and its weight. Each list is ordered, without repeats, and not empty. */
export type PoolNode = Weighted & {
  readonly tiers: readonly number[]
  readonly models: readonly string[]
  /** For each model that takes more than a short conversation, in the order of models; left out when there are none. */
  readonly takes?: readonly ModelTakes[]
  readonly comparators: readonly ComparatorId[]
}

/** The error of a pool that does not hold. */
export const poolInvalid = (why: string): SvcError =>
  new SvcError('pool-snapshot-invalid', `The pool snapshot does not hold: ${why}`, {
    hint: 'Fetch it again. If that changes nothing, its source has changed it.',
  })

/** Writes a node's line: address, weight, tiers, models and comparators, with commas inside a list. */
export const lineOf = ({
  address,
  weight,
  tiers,
  models,
  takes,
  comparators,
}: PoolNode): string => {
  const told = models.map((id) => modelText(id, takesOf(takes, id)))
  return [address, weight, ...[tiers, told, comparators].map((list) => list.join())].join(' ')
}

/** Writes a model and what it takes: `ID=PART+PART:PROMPT_BYTES:OUTPUT_TOKENS`, each empty when not stated. */
const modelText = (id: string, takes: Takes | undefined): string =>
  takes
    ? `${id}=${takes.parts.join('+')}:${takes.max_prompt_bytes ?? ''}:${takes.max_output_tokens ?? ''}`
    : id

function modelOf(text: string): { readonly id: string; readonly takes?: unknown } {
  const [id = '', told, ...rest] = text.split('=')
  if (told === undefined || rest.length > 0) return { id: text }
  const [parts, bytes, tokens] = told.split(':')
  const takes = {
    model_id: id,
    parts: parts ? parts.split('+') : [],
    ...(bytes && { max_prompt_bytes: Number(bytes) }),
    ...(tokens && { max_output_tokens: Number(tokens) }),
  }
  return { id, takes }
}

/** Reads a node's line. Throws SvcError `pool-snapshot-invalid`. */
export function nodeOf(line: string): PoolNode {
  const [address, weight, tiers, models, comparators] = line.split(' ')
  const told = models?.split(',').map(modelOf)
  const takes = told?.flatMap((model) => model.takes ?? [])
  const node = PoolLine.safeParse({
    address,
    weight: Number(weight),
    tiers: tiers?.split(',').map(Number),
    models: told?.map(({ id }) => id),
    ...(takes?.length && { takes }),
    comparators: comparators?.split(','),
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

const PoolLine = z.object({
  address: Address,
  weight: z.int().min(1).max(maxWeight),
  tiers: inOrder(ModelTier, 256),
  models: inOrder(ModelId, 64),
  takes: z.array(PoolTakes).exactOptional(),
  comparators: inOrder(ComparatorId, 16),
})
