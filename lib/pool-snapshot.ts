import { z } from 'zod'
import { cidOf } from './cid.ts'
import { Address, Cid, ComparatorId, ModelId, ModelTier } from './codecs.ts'
import { utf8 } from './digest.ts'
import { inPoolOrder, type Weighted } from './draw.ts'
import { type Takes, takesOf } from './prompt-needs.ts'
import { maxWeight } from './reputation.ts'
import { ModelTakes, PromptPart } from './schemas/prompt-needs.ts'
import { SvcError } from './svc-error.ts'

type Bytes = Uint8Array<ArrayBuffer>

const leafHeader = 'svc-pool-v2'
const branchHeader = 'svc-pool-branch-v2'
const maxLeafNodes = 64
const addressDigits = 40
const maxBranches = 16
const maxNodes = 100_000
const maxParts = 50_000
// Of the most nodes, 670 bytes for each.
const maxBytes = 64 * 1_048_576

/** A node of a published pool: what it can be drawn for, and its weight. Each list is ordered, without repeats, and not empty. */
export type PoolNode = Weighted & {
  readonly tiers: readonly number[]
  readonly models: readonly string[]
  /** For each model that takes more than a short conversation, in the order of models; left out when there are none. */
  readonly takes?: readonly ModelTakes[]
  readonly comparators: readonly ComparatorId[]
}

/** A pool as blobs by CID. `root` is the only blob, or leads to all others. */
export type PoolSnapshot = { readonly root: string; readonly parts: ReadonlyMap<string, Bytes> }

/** Writes a pool as blobs of up to 64 nodes, split by the digits of addresses, so that pools that differ in few nodes share most blobs. */
export async function snapshotPool(pool: readonly PoolNode[]): Promise<PoolSnapshot> {
  const parts = new Map<string, Bytes>()
  const write = async (nodes: readonly PoolNode[], digit: number): Promise<string> => {
    const lines: string[] = []
    const isLeaf = nodes.length <= maxLeafNodes || digit >= addressDigits
    if (isLeaf) lines.push(leafHeader, ...nodes.map(lineOf))
    else {
      lines.push(branchHeader)
      for (const group of byDigit(nodes, digit)) lines.push(await write(group, digit + 1))
    }
    const bytes = utf8(lines.join('\n'))
    const cid = await cidOf(bytes)
    parts.set(cid, bytes)
    return cid
  }
  return { root: await write(inPoolOrder(pool), 0), parts }
}

function byDigit(nodes: readonly PoolNode[], digit: number): readonly (readonly PoolNode[])[] {
  const groups = new Map<string | undefined, PoolNode[]>()
  for (const node of nodes) {
    const key = node.address[2 + digit]
    const group = groups.get(key)
    if (group) group.push(node)
    else groups.set(key, [node])
  }
  return [...groups.values()]
}

const invalid = (why: string): SvcError =>
  new SvcError('pool-snapshot-invalid', `The pool snapshot does not hold: ${why}`, {
    hint: 'Fetch it again. If that changes nothing, its source has changed it.',
  })

/** Reads a pool's nodes from its blobs, each checked against its CID. Throws SvcError `pool-snapshot-invalid`, or what `load` throws. */
export async function readPool(
  root: string,
  load: (cid: string) => Promise<Bytes>,
): Promise<{ readonly nodes: readonly PoolNode[]; readonly cids: readonly string[] }> {
  const cids: string[] = []
  let count = 0
  let size = 0
  const read = async (cid: string, depth: number): Promise<readonly PoolNode[]> => {
    if (depth > addressDigits || cids.push(cid) > maxParts) throw invalid('it has too many parts')
    const bytes = await load(cid)
    size += bytes.length
    if (size > maxBytes) throw invalid('it is too large')
    if ((await cidOf(bytes)) !== cid) throw invalid(`${cid} has other content than its name says`)
    const [header, ...lines] = new TextDecoder().decode(bytes).split('\n')
    if (header === leafHeader) {
      count += lines.length
      if (count > maxNodes) throw invalid('it has too many nodes')
      return lines.map(nodeOf)
    }
    if (header !== branchHeader) throw invalid(`${cid} is no part of a pool`)
    // One for each hex digit. Few downloads at a time: blob servers limit requests, and a hostile pool could fill the memory.
    if (lines.length > maxBranches) throw invalid('it has too many parts')
    const parts = lines.map(cidIn)
    if (depth === 1) return (await Promise.all(parts.map((part) => read(part, 2)))).flat()
    const nodes: PoolNode[] = []
    for (const part of parts) nodes.push(...(await read(part, depth + 1)))
    return nodes
  }
  const nodes = await read(root, 0)
  const isOrdered = nodes.every(({ address }, index) => {
    const before = nodes[index - 1]
    return before === undefined || before.address < address
  })
  if (!isOrdered) throw invalid('its nodes are out of order, or there twice')
  return { nodes, cids }
}

/** Writes a node's line: address, weight, tiers, models and comparators, with commas inside a list. */
const lineOf = ({ address, weight, tiers, models, takes, comparators }: PoolNode): string => {
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

function nodeOf(line: string): PoolNode {
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
    throw invalid(`${JSON.stringify(line.slice(0, 80))} is no node`)
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

function cidIn(line: string): string {
  const cid = Cid.safeParse(line)
  if (!cid.success) throw invalid(`${JSON.stringify(line.slice(0, 80))} is no part`)
  return cid.data
}
