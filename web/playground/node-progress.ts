import type { Inference } from '../../lib/client/inference.ts'
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

type Outcome = Pick<Inference, 'status' | 'leader' | 'verdicts'>

const words: Readonly<Record<string, string>> = {
  chosen: 'chosen',
  'awaiting-grant': 'waiting for access to the key',
  offered: 'may read the key',
  'node-busy': 'busy',
  claimed: 'claimed its assignment',
  committed: 'committed to its answer',
  'result-posted': 'answered',
  'verdict-match': 'compared: match',
  'verdict-no-match': 'compared: no match',
  aborted: 'gave its assignment back',
  lapsed: 'was too late',
  'fault-found': 'broke the rules',
}

const endings = ['result-posted', 'verdict-match', 'verdict-no-match', 'aborted', 'lapsed']

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
function withOutcome(row: NodeProgress, outcome: Outcome | undefined): NodeProgress {
  if (outcome === undefined || row.isOver) return row
  if (row.role === 'leader') {
    const answered = outcome.status === 'accepted' && row.node === outcome.leader
    return answered ? { ...row, status: eventWords({ type: 'result-posted' }), isOver: true } : row
  }
  const found = outcome.verdicts.find(({ node }) => node === row.node)
  if (found === undefined) return row
  const type = `verdict-${found.verdict}`
  const status = eventWords({ type, detail: found.reason })
  return { ...row, status, verdict: verdictOf(type), isOver: true }
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
