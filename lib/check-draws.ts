import { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import { Address, Hash32, JobId, ModelId, ModelTier, SessionSignature } from './codecs.ts'
import { utf8 } from './digest.ts'
import { drawNodes, type Weighted } from './draw.ts'
import { errorMessage } from './error-message.ts'
import { ProblemError } from './problem.ts'
import type { JobView } from './schemas/jobs.ts'
import { verifySignature } from './session-key.ts'
import { SvcError } from './svc-error.ts'

/** Draws of one epoch share a block; seconds. */
export const epochSeconds = 600

/** What a draw may be off an epoch's edge: the clocks of replicas differ by a second or so, and a submission takes a while; seconds. */
export const clockSkewSeconds = 30

/** What the ICL signs before it draws: the whole of what the draw depends on, but for the pool. */
const DrawMessage = z.strictObject({
  draw: z.literal('svc-draw-v1'),
  chain_id: z.int(),
  /** The time in Unix seconds, divided by `epochSeconds`. */
  epoch: z.int(),
  block_number: z.string().regex(/^(0|[1-9][0-9]{0,19})$/),
  block_hash: Hash32,
  client: Address.nullable(),
  /** Absent in the draw that a job was submitted with: there was no job yet. */
  jobId: JobId.nullable(),
  /** How many jobs the client had in this epoch, or how many draws the job. */
  ordinal: z.int().min(0),
  model_id: ModelId,
  min_tier: ModelTier,
  count: z.int().min(1),
})
type DrawMessage = z.output<typeof DrawMessage>

type DrawView = JobView['draws'][number]

/** A draw, what it spoke of, and everything that does not fit. */
export type CheckedDraw = {
  readonly draw: DrawView
  readonly message: DrawMessage | undefined
  /** How many nodes it was drawn from. */
  readonly nodes: number | undefined
  /** Whom the seed and the pool give. */
  readonly recomputed: readonly Address[] | undefined
  readonly mistakes: readonly string[]
}

/** What checking draws takes besides the job. */
export type DrawSources = {
  readonly chainId: number
  /** The ICL's Ed25519 keys, old ones included, base64url. */
  readonly iclKeys: readonly string[]
  /** The nodes of a pool by its CID; throws when they cannot be had or are not what the CID says. */
  readonly loadPool: (poolCid: string) => Promise<readonly Weighted[]>
}

type DrawnJob = Pick<
  JobView,
  'jobId' | 'client' | 'model_id' | 'min_tier' | 'created_at' | 'deadline' | 'quorum' | 'draws'
>

/** Derives every draw of a job again from its seed and its pool, and holds the job's quorum against them. */
export async function checkDraws(
  job: DrawnJob,
  sources: DrawSources,
): Promise<{ readonly draws: readonly CheckedDraw[]; readonly mistakes: readonly string[] }> {
  const draws: CheckedDraw[] = []
  for (const index of job.draws.keys()) draws.push(await checkDraw(job, index, sources))
  return { draws, mistakes: quorumMistakes(job) }
}

async function checkDraw(job: DrawnJob, index: number, sources: DrawSources): Promise<CheckedDraw> {
  const draw = job.draws[index]
  if (!draw) throw new RangeError(`The job has no draw ${index}`)
  const mistakes: string[] = []
  if (!(await isSigned(draw, sources.iclKeys)))
    mistakes.push('no key of the ICL signed its message')
  const message = parseMessage(draw.message)
  if (!message) {
    return {
      draw,
      message,
      nodes: undefined,
      recomputed: undefined,
      mistakes: [...mistakes, 'its message is not one of a draw'],
    }
  }
  mistakes.push(...messageMistakes(message, job, index, sources.chainId))
  const pool = await poolOf(job, index, sources.loadPool)
  if (typeof pool === 'string') {
    return { draw, message, nodes: undefined, recomputed: undefined, mistakes: [...mistakes, pool] }
  }
  const again = drawNodes(draw, pool, message.count)
  if (again.poolDigest !== draw.pool_digest) mistakes.push('the pool has another digest')
  if (again.chosen.join() !== draw.chosen.join()) {
    mistakes.push(`seed and pool give ${again.chosen.join(', ') || 'nobody'}`)
  }
  return { draw, message, nodes: pool.length, recomputed: again.chosen, mistakes }
}

async function isSigned(
  { message, signature }: DrawView,
  iclKeys: readonly string[],
): Promise<boolean> {
  // One spelling only: the text of the signature is part of what is drawn with.
  if (!SessionSignature.safeParse(signature).success) return false
  for (const key of iclKeys) {
    if (await verifySignature(key, signature, utf8(message))) return true
  }
  return false
}

function parseMessage(text: string): DrawMessage | undefined {
  try {
    const message = DrawMessage.parse(JSON.parse(text))
    const isCanonical = new TextDecoder().decode(canonicalJson(message)) === text
    return isCanonical ? message : undefined
  } catch {
    return undefined
  }
}

function messageMistakes(
  message: DrawMessage,
  job: DrawnJob,
  index: number,
  chainId: number,
): readonly string[] {
  const isFirst = index === 0
  const facts: readonly [boolean, string][] = [
    [message.chain_id === chainId, `it is for chain ${message.chain_id}`],
    [message.client === job.client, `it is for the client ${message.client}`],
    [message.jobId === (isFirst ? null : job.jobId), `it is for the job ${message.jobId}`],
    // How many jobs the client had is known to it and the ICL alone.
    [
      isFirst || message.ordinal === index,
      `it is draw ${message.ordinal} of its job, not ${index}`,
    ],
    [message.model_id === job.model_id, `it is for the model ${message.model_id}`],
    [message.min_tier === job.min_tier, `it is for tier ${message.min_tier}`],
    [isEpochOf(job, isFirst, message.epoch), `its epoch ${message.epoch} is not one of the job`],
  ]
  return facts.flatMap(([holds, mistake]) => (holds ? [] : [mistake]))
}

/**
 * Whether a draw of the epoch can be one of the job: it was previewed in the ten minutes before, or drawn before the deadline.
 * Clocks may differ, so that at an epoch's edge the neighbour is one, too: one seed more at most, and never for most jobs.
 */
function isEpochOf(job: DrawnJob, isFirst: boolean, epoch: number): boolean {
  const from = job.created_at - (isFirst ? epochSeconds : 0) - clockSkewSeconds
  const to = (isFirst ? job.created_at : job.deadline) + clockSkewSeconds
  return epoch >= Math.floor(from / epochSeconds) && epoch <= Math.floor(to / epochSeconds)
}

/** Whom a draw was made from: the free nodes of then without the client and all who had a part before; or why that is not known. */
async function poolOf(
  { client, draws }: DrawnJob,
  index: number,
  loadPool: DrawSources['loadPool'],
) {
  const poolCid = draws[index]?.pool_cid
  if (poolCid === undefined) return 'no snapshot of its pool was kept'
  try {
    const taken = new Set([client, ...draws.slice(0, index).flatMap(({ chosen }) => chosen)])
    const nodes = await loadPool(poolCid)
    return nodes
      .filter(({ address }) => !taken.has(address))
      .map((node) => ({ ...node, busy: false }))
  } catch (error) {
    // That nobody answered now says nothing of the draw.
    if (isPassing(error)) throw error
    return errorMessage(error)
  }
}

const isPassing = (error: unknown): boolean =>
  (error instanceof ProblemError || error instanceof SvcError) && error.retryable

/** Who sits in the quorum without having been drawn, was drawn without ever sitting in it, or sat on another seat than drawn. */
function quorumMistakes({ draws, quorum }: DrawnJob): readonly string[] {
  const [first] = draws
  if (!first) return ['the job has no draws']
  const drawn = new Set(draws.flatMap(({ chosen }) => chosen))
  const strangers = quorum.filter(({ node }) => !drawn.has(node))
  const seats = new Set(quorum.map(({ node }) => node))
  // Or the ICL could draw again and again until a draw pleased it, and still show every one.
  const unseated = [...drawn].filter((node) => !seats.has(node))
  const seated = first.chosen.map(
    (_, seat) => quorum.find((assignment) => assignment.seat === seat)?.node,
  )
  return [
    ...strangers.map(({ node, seat }) => `no draw chose ${node}, which has seat ${seat}`),
    ...unseated.map((node) => `${node} was drawn, and never had a seat`),
    ...(seated.join() === first.chosen.join() ? [] : ['the first draw was not seated as drawn']),
  ]
}
