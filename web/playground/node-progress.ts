import { isCause, whatOf } from '../../lib/causes.ts'
import type { AcceptedInference, Inference } from '../../lib/client/inference.ts'
import type { Address } from '../../lib/codecs.ts'
import type { JobEvent } from '../../lib/schemas/jobs.ts'

/** A node's part in its job. All are seated until their answers agree. */
export type NodePart = 'seated' | 'deliverer' | 'member' | 'differs'

/** A node's progress in its assignment. */
export type NodeProgress = {
  /** Names the assignment: a node may get more than one. */
  readonly fence: number
  readonly node: Address
  readonly part: NodePart
  /** Its seat was added because the quorum did not agree. */
  readonly joined: boolean
  /** The last event, in words. */
  readonly status: string
  /** Why its turn to deliver failed, in words. */
  readonly failedTurn: string | undefined
  readonly verdict: 'match' | 'no-match' | undefined
  readonly isOver: boolean
  /** Unix seconds of the last event. */
  readonly at: number
}

type Outcome = Pick<Inference, 'deliverer' | 'verdicts'> & {
  readonly agreed?: Pick<AcceptedInference['agreed'], 'differed'>
  readonly receipt?: {
    readonly answers: readonly {
      readonly body: { readonly address: Address }
      readonly batch: number
    }[]
    readonly failed_deliveries: readonly { readonly address: Address; readonly reason: string }[]
  }
}

const words: Readonly<Record<string, string>> = {
  chosen: 'chosen',
  'awaiting-grant': 'waiting for access to the key',
  offered: 'may read the key',
  'node-busy': 'busy',
  claimed: 'claimed its assignment',
  committed: 'committed to its answer',
  revealed: 'showed what its answer looks like',
  'to-deliver': 'has to deliver its answer',
  delivered: 'delivered its answer',
  'delivery-failed': 'did not deliver',
  'verdict-match': 'checked the delivery: match',
  'verdict-no-match': 'says: no match',
  aborted: 'gave its assignment back',
  lapsed: 'was too late',
  differs: 'answered differently',
  'fault-found': 'broke the rules',
}

const endings = ['delivered', 'verdict-match', 'verdict-no-match', 'aborted', 'lapsed']

/** Returns an event in words, or its type if there are none. */
export const eventWords = ({ type, detail }: Pick<JobEvent, 'type' | 'detail'>): string => {
  const what = words[type] ?? type.replaceAll('-', ' ')
  // A verdict's detail repeats the verdict unless there is a reason.
  if (detail === undefined || type.endsWith(detail)) return what
  return `${what} (${detail.replaceAll('-', ' ')})`
}

const parts: Readonly<Record<string, NodePart>> = {
  'to-deliver': 'deliverer',
  delivered: 'deliverer',
  'delivery-failed': 'member',
  'verdict-match': 'member',
}

const verdicts: Readonly<Record<string, NodeProgress['verdict']>> = {
  'verdict-match': 'match',
  'verdict-no-match': 'no-match',
}

// The stream may end before its last events, so the outcome completes them.
function withOutcome(told: NodeProgress, outcome: Outcome | undefined): NodeProgress {
  if (outcome === undefined) return told
  const { deliverer, agreed, receipt } = outcome
  const answer = receipt?.answers.find(({ body }) => body.address === told.node)
  const failed = receipt?.failed_deliveries.find(({ address }) => address === told.node)
  const found = outcome.verdicts.find(({ node }) => node === told.node)
  const differs = agreed?.differed.find(({ node }) => node === told.node)
  const isOut = told.isOver && told.part === 'seated' && told.verdict === undefined
  const partAtLast = (): NodePart => {
    if (told.node === deliverer) return 'deliverer'
    if (differs) return 'differs'
    return answer || found ? 'member' : told.part
  }
  const row: NodeProgress = {
    ...told,
    part: agreed && !isOut ? partAtLast() : told.part,
    joined: answer ? answer.batch > 0 : told.joined,
    failedTurn: failed ? failedTurnOf(failed.reason) : told.failedTurn,
  }
  if (row.isOver) return row
  if (row.part === 'deliverer' && agreed) {
    return { ...row, status: eventWords({ type: 'delivered' }), isOver: true }
  }
  if (found) {
    const type = `verdict-${found.verdict}`
    const status = eventWords({ type, detail: found.reason })
    return { ...row, status, verdict: found.verdict, isOver: true }
  }
  if (!differs) return row
  const status = eventWords({ type: 'differs', detail: differs.how })
  return { ...row, status, verdict: 'no-match', isOver: true }
}

const failedTurnOf = (reason: string | undefined): string =>
  `its turn to deliver failed${reason === undefined ? '' : `: ${isCause(reason) ? whatOf(reason, '') : reason}`}`

/** Returns the progress of each node of a job, in the order of seating, from its events and, once it is over, its outcome. */
export function nodeProgress(
  events: readonly JobEvent[],
  outcome?: Outcome,
): readonly NodeProgress[] {
  const byFence = new Map<number, NodeProgress>()
  let isWidened = false
  for (const event of events) {
    const { node, fence, type, at, detail } = event
    if (type === 'seats-added') isWidened = true
    if (node === undefined || fence === undefined) continue
    const known = byFence.get(fence)
    byFence.set(fence, {
      fence,
      node,
      part: parts[type] ?? known?.part ?? 'seated',
      joined: known?.joined ?? isWidened,
      status: eventWords(type === 'delivery-failed' ? { type } : event),
      failedTurn: type === 'delivery-failed' ? failedTurnOf(detail) : known?.failedTurn,
      verdict: verdicts[type] ?? known?.verdict,
      isOver: endings.includes(type),
      at,
    })
  }
  return [...byFence.values()]
    .map((row) => withOutcome(row, outcome))
    .sort((a, b) => a.fence - b.fence)
}
