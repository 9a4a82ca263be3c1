import type { AcceptedInference, Inference } from '../../lib/client/inference.ts'
import type { Address } from '../../lib/codecs.ts'
import type { JobEvent, Role } from '../../lib/schemas/jobs.ts'

/** What a node has done of its assignment so far. */
export type NodeProgress = {
  /** Names the assignment: a node may get more than one. */
  readonly fence: number
  readonly node: Address
  readonly role: Role
  /** The last thing that happened, in words. */
  readonly status: string
  readonly verdict: 'match' | 'no-match' | undefined
  readonly isOver: boolean
  /** Unix seconds of the last thing that happened. */
  readonly at: number
}

type Outcome = Pick<Inference, 'leader' | 'verdicts'> & {
  readonly agreed?: Pick<AcceptedInference['agreed'], 'differed'>
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
  'delivery-failed': 'failed to deliver',
  'verdict-match': 'checked the delivery: match',
  'verdict-no-match': 'says: no match',
  aborted: 'gave its assignment back',
  lapsed: 'was too late',
  differs: 'answered differently',
  'fault-found': 'broke the rules',
}

const endings = ['delivered', 'verdict-match', 'verdict-no-match', 'aborted', 'lapsed']

/** What an event says, in words; as the ICL names it where there are none. */
export const eventWords = ({ type, detail }: Pick<JobEvent, 'type' | 'detail'>): string => {
  const what = words[type] ?? type.replaceAll('-', ' ')
  // A verdict's detail is the verdict again, unless there is a reason for it.
  if (detail === undefined || type.endsWith(detail)) return what
  return `${what} (${detail.replaceAll('-', ' ')})`
}

const verdictOf = (type: string): NodeProgress['verdict'] => {
  if (type === 'verdict-match') return 'match'
  return type === 'verdict-no-match' ? 'no-match' : undefined
}

// The stream of events ends with the job, and its last ones may not have come: the outcome tells them as well.
function withOutcome(told: NodeProgress, outcome: Outcome | undefined): NodeProgress {
  if (outcome === undefined) return told
  const { leader, agreed, verdicts } = outcome
  const row: NodeProgress = { ...told, role: told.node === leader ? 'leader' : 'verifier' }
  if (row.isOver) return row
  if (agreed && row.role === 'leader') {
    return { ...row, status: eventWords({ type: 'delivered' }), isOver: true }
  }
  const found = verdicts.find(({ node }) => node === row.node)
  const differs = agreed?.differed.find(({ node }) => node === row.node)
  if (found) {
    const type = `verdict-${found.verdict}`
    const status = eventWords({ type, detail: found.reason })
    return { ...row, status, verdict: found.verdict, isOver: true }
  }
  if (!differs) return row
  const status = eventWords({ type: 'differs', detail: differs.how })
  return { ...row, status, verdict: 'no-match', isOver: true }
}

/** How far each node of a job is, by its events and once it is over by its outcome, the leader first. */
export function nodeProgress(
  events: readonly JobEvent[],
  outcome?: Outcome,
): readonly NodeProgress[] {
  const byFence = new Map<number, NodeProgress>()
  for (const event of events) {
    const { node, role, fence, type, at } = event
    if (node === undefined || role === undefined || fence === undefined) continue
    const verdict = verdictOf(type) ?? byFence.get(fence)?.verdict
    const isOver = endings.includes(type)
    byFence.set(fence, { fence, node, role, status: eventWords(event), verdict, isOver, at })
  }
  const rank = ({ role }: NodeProgress) => (role === 'leader' ? 0 : 1)
  return [...byFence.values()]
    .map((row) => withOutcome(row, outcome))
    .sort((a, b) => rank(a) - rank(b) || a.fence - b.fence)
}
