import { type Address, ComparatorId } from '../../lib/codecs.ts'
import { takesOf, unmetNeeds } from '../../lib/prompt-needs.ts'
import { newcomer, type ReputationFold, type Standing } from '../../lib/reputation.ts'
import type {
  AttestationBackend,
  IneligibleReason,
  WithdrawalReason,
} from '../../lib/schemas/nodes.ts'
import type { ModelTakes, PromptNeeds } from '../../lib/schemas/prompt-needs.ts'
import type { ReadingGrant } from '../../lib/schemas/reading.ts'
import type { StatementSession } from '../../lib/schemas/statements.ts'
import type { Enrollment } from './enrollment.ts'
import { jobMs } from './job.ts'
import { ageOf, mostExcusedMs, type Outage } from './outages.ts'
import { noFormerRuns, type Runs } from './runs.ts'

/** A node's valid attestation; times in milliseconds. */
export type Certificate = {
  readonly id: string
  readonly backend: AttestationBackend
  readonly issuedAt: number
  readonly expiresAt: number
  /** RFC 7638 thumbprint of the session key. */
  readonly thumbprint: string
  readonly session: StatementSession
  /** The highest tier that the operator's policy allows for this attestation; it counts as 0 when absent. */
  readonly highestTier?: number
  /** The TPM that made the attestation. */
  readonly tpm?: Pick<Enrollment, 'ek' | 'ak'>
}

/** An ended certificate. It expires at its issue, so that it is past for every clock: the operator's may be ahead of the ICL's. */
export const ended = (certificate: Certificate): Certificate => ({
  ...certificate,
  expiresAt: certificate.issuedAt,
})

/** The fold of a node's events before a second (Unix time), so that the ICL need not read them again for each new event. */
export type Folded = ReputationFold & { readonly before: number }

/** A model that a node does not offer for now; `until` in milliseconds. */
export type Withdrawal = {
  readonly modelId: string
  readonly reason: WithdrawalReason
  readonly until?: number
}

/** What the ICL itself records of a node, without the chain's part; times in milliseconds. */
export type Node = {
  readonly address: Address
  readonly certificate: Certificate
  /** Stays when the certificate ends or the node is banned: lists with the node may still be drawn. */
  readonly reading: ReadingGrant
  readonly runs: Runs
  readonly heartbeatAt?: number
  /** The node's own clock in the last heartbeat, Unix seconds. It has to increase. */
  readonly heartbeatTimestamp?: number
  readonly polledAt?: number
  readonly version?: string
  readonly modelIds: readonly string[]
  /** The models that it serves, but does not offer for now. */
  readonly withdrawn?: readonly Withdrawal[]
  /** What it takes for its models. A model that is left out takes a short conversation. */
  readonly takes?: readonly ModelTakes[]
  /** The comparators that the node supports; `defaultComparators` when absent. */
  readonly comparators?: readonly string[]
  /** How many jobs it runs at once: the free slots that it reported plus the claims that it held then. */
  readonly capacity: number
  readonly leaving: boolean
  readonly standing: Standing
  readonly folded?: Folded | undefined
  /** The TPM that the node enrolled. Its certificate may rest on another backend. */
  readonly enrollment?: Enrollment
}

/** A node that has attested and sent nothing else yet. */
export const attestedNode = (
  address: Address,
  certificate: Certificate,
  reading: ReadingGrant,
): Node => ({
  address,
  certificate,
  reading,
  runs: noFormerRuns,
  modelIds: [],
  capacity: 0,
  leaving: false,
  standing: newcomer,
})

/** What the chain knows of a node. */
export type ChainNode = {
  readonly registered: boolean
  readonly active: boolean
  readonly unbonding: boolean
  readonly modelTiers: readonly number[]
}

/** What a job demands of its nodes. */
export type Demand = {
  readonly modelId?: string | undefined
  readonly minTier: number
  readonly comparator?: ComparatorId | undefined
  readonly needs?: PromptNeeds | undefined
}

/** The comparators of a node that names none. These need nothing from the node. */
export const defaultComparators: readonly string[] = ['exact', 'similar/2'] satisfies ComparatorId[]

const heartbeatWithinMs = 150_000
const pollWithinMs = 60_000

/** The tiers that a node serves: registered on chain and allowed by its attestation. */
export const servedTiers = (node: Node, chain: ChainNode): readonly number[] =>
  chain.modelTiers.filter((tier) => tier <= (node.certificate.highestTier ?? 0))

type Reason = (typeof IneligibleReason)['options'][number]

/** Returns why a node cannot be drawn for a demand now; empty when it can. Excused outage time does not count as silence of the node. */
export function ineligibleReasons(
  node: Node,
  chain: ChainNode | undefined,
  demand: Demand,
  now: number,
  outages: readonly Outage[],
): readonly Reason[] {
  const since = (at: number | undefined) =>
    at === undefined ? Number.POSITIVE_INFINITY : ageOf(at, now, outages)
  const tiers = chain ? servedTiers(node, chain) : []
  const reasons: Reason[] = []
  // Without a list of pairs: pools of many thousand nodes are gone through.
  const note = (holds: boolean, reason: Reason) => {
    if (holds) reasons.push(reason)
  }
  note(node.certificate.expiresAt <= now || endsSoon(node, now), 'certificate-expired')
  note(chain === undefined, 'chain-unavailable')
  note(chain?.registered === false, 'not-registered')
  note(chain?.unbonding === true, 'stake-unbonding')
  note(chain?.registered === true && !chain.active && !chain.unbonding, 'chain-inactive')
  note(since(node.heartbeatAt) > heartbeatWithinMs, 'no-heartbeat')
  note(since(node.polledAt) > pollWithinMs, 'no-recent-poll')
  note(node.leaving, 'leaving')
  note(lacksModel(node, demand), 'no-model')
  note(lacksComparator(node, demand), 'no-comparator')
  note(chain?.registered === true && !tiers.some((tier) => tier >= demand.minTier), 'no-tier')
  return reasons
}

/** True when the session key could expire before a job that starts now has ended. */
const endsSoon = ({ certificate }: Node, now: number): boolean =>
  certificate.session.not_after * 1000 < now + jobMs + mostExcusedMs

const lacksModel = ({ modelIds, takes }: Node, { modelId, needs }: Demand): boolean =>
  modelId === undefined
    ? modelIds.length === 0
    : !modelIds.includes(modelId) || unmetNeeds(takesOf(takes, modelId), needs).length > 0

/** True for a node that has withdrawn a model, and does not say that it offers it again before `deadline`. */
export const hasWithdrawn = (
  { withdrawn = [] }: Node,
  { modelId }: Demand,
  deadline: number,
): boolean =>
  withdrawn.some((one) => one.modelId === modelId && (one.until ?? deadline) >= deadline)

const lacksComparator = (node: Node, { comparator }: Demand): boolean => {
  const offered = node.comparators ?? defaultComparators
  return comparator === undefined
    ? !ComparatorId.options.some((id) => offered.includes(id))
    : !offered.includes(comparator)
}
