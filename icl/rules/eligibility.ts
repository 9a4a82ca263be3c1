import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { takesOf, unmetNeeds } from '../../lib/prompt-needs.ts'
import { newcomer, type ReputationFold, type Standing } from '../../lib/reputation.ts'
import type { AttestationBackend, IneligibleReason } from '../../lib/schemas/nodes.ts'
import type { ModelTakes, PromptNeeds } from '../../lib/schemas/prompt-needs.ts'
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
  /** The highest tier that the operator's policy allows by this attestation; 0 when it says nothing. */
  readonly highestTier?: number
  /** The TPM that proved it. */
  readonly tpm?: Pick<Enrollment, 'ek' | 'ak'>
}

/** A certificate that counts no more: past for every clock, since the operator's may be ahead of the ICL's. */
export const ended = (certificate: Certificate): Certificate => ({
  ...certificate,
  expiresAt: certificate.issuedAt,
})

/** The fold of a node's events that came before a second (Unix time), so that they need not be read for each new one. */
export type Folded = ReputationFold & { readonly before: number }

/** What the ICL knows of a node by its own words; times in milliseconds. */
export type Node = {
  readonly address: Address
  readonly certificate: Certificate
  readonly runs: Runs
  readonly heartbeatAt?: number
  /** The node's own clock in the last heartbeat, Unix seconds: it has to increase. */
  readonly heartbeatTimestamp?: number
  readonly polledAt?: number
  readonly version?: string
  readonly modelIds: readonly string[]
  /** What it takes for its models; of one that is left out, a short conversation. */
  readonly takes?: readonly ModelTakes[]
  /** What it can compare by; see `defaultComparators` for a node that does not say. */
  readonly comparators?: readonly string[]
  /** How many jobs it runs at once: free slots it reported plus those that it had then. */
  readonly capacity: number
  readonly leaving: boolean
  readonly standing: Standing
  readonly folded?: Folded | undefined
  /** The TPM that it enrolled; its certificate may stand on something else. */
  readonly enrollment?: Enrollment
}

/** A node that has just attested and said nothing else yet. */
export const attestedNode = (address: Address, certificate: Certificate): Node => ({
  address,
  certificate,
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

/** What a job asks of its nodes. */
export type Demand = {
  readonly modelId?: string | undefined
  readonly minTier: number
  readonly comparator?: ComparatorId | undefined
  readonly needs?: PromptNeeds | undefined
}

/** What a node can compare by that does not say it: these ask nothing of it. */
export const defaultComparators: readonly string[] = ['exact', 'similar/2'] satisfies ComparatorId[]

const heartbeatWithinMs = 150_000
const pollWithinMs = 60_000

/** The tiers that a node serves: registered on chain, and allowed by its attestation. */
export const servedTiers = (node: Node, chain: ChainNode): readonly number[] =>
  chain.modelTiers.filter((tier) => tier <= (node.certificate.highestTier ?? 0))

type Reason = (typeof IneligibleReason)['options'][number]

/** Why a node cannot be drawn for a demand now; none when it can. It is not silent while nobody could hear it. */
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
  const checks: readonly [boolean, Reason][] = [
    [node.certificate.expiresAt <= now || endsSoon(node, now), 'certificate-expired'],
    [chain === undefined, 'chain-unavailable'],
    [chain?.registered === false, 'not-registered'],
    [chain?.unbonding === true, 'stake-unbonding'],
    [chain?.registered === true && !chain.active && !chain.unbonding, 'chain-inactive'],
    [since(node.heartbeatAt) > heartbeatWithinMs, 'no-heartbeat'],
    [since(node.polledAt) > pollWithinMs, 'no-recent-poll'],
    [node.leaving, 'leaving'],
    [lacksModel(node, demand), 'no-model'],
    [lacksComparator(node, demand), 'no-comparator'],
    [chain?.registered === true && !tiers.some((tier) => tier >= demand.minTier), 'no-tier'],
  ]
  return checks.flatMap(([holds, reason]) => (holds ? [reason] : []))
}

/** True when the session key would stop counting while a job of now may still run. */
const endsSoon = ({ certificate }: Node, now: number): boolean =>
  certificate.session.not_after * 1000 < now + jobMs + mostExcusedMs

const lacksModel = ({ modelIds, takes }: Node, { modelId, needs }: Demand): boolean =>
  modelId === undefined
    ? modelIds.length === 0
    : !modelIds.includes(modelId) || unmetNeeds(takesOf(takes, modelId), needs).length > 0

const lacksComparator = (node: Node, { comparator }: Demand): boolean =>
  comparator !== undefined && !(node.comparators ?? defaultComparators).includes(comparator)
