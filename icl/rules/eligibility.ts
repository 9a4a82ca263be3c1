import type { Address } from '../../lib/codecs.ts'
import type { AttestationBackend, IneligibleReason } from '../../lib/schemas/nodes.ts'
import type { StatementSession } from '../../lib/schemas/receipt.ts'
import { jobMs } from './job.ts'
import { newcomer, type Standing } from './reputation.ts'

/** A node's valid attestation; times in milliseconds. */
export type Certificate = {
  readonly id: string
  readonly backend: AttestationBackend
  readonly issuedAt: number
  readonly expiresAt: number
  /** RFC 7638 thumbprint of the session key. */
  readonly thumbprint: string
  readonly session: StatementSession
}

/** What the ICL knows of a node by its own words; times in milliseconds. */
export type Node = {
  readonly address: Address
  readonly certificate: Certificate
  /** Session keys of earlier attestations, so that their use can be told from a stranger's. */
  readonly formerThumbprints: readonly string[]
  readonly heartbeatAt?: number
  /** The node's own clock in the last heartbeat, Unix seconds: it has to increase. */
  readonly heartbeatTimestamp?: number
  readonly polledAt?: number
  readonly version?: string
  readonly modelIds: readonly string[]
  /** How many jobs it runs at once: free slots it reported plus those that it had then. */
  readonly capacity: number
  readonly leaving: boolean
  readonly standing: Standing
}

/** A node that has just attested and said nothing else yet. */
export const attestedNode = (address: Address, certificate: Certificate): Node => ({
  address,
  certificate,
  formerThumbprints: [],
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
  /** Gwei. */
  readonly slashedGwei: number
}

/** What a job asks of its nodes. */
export type Demand = { readonly modelId?: string | undefined; readonly minTier: number }

const heartbeatWithinMs = 150_000
const pollWithinMs = 60_000

/** The highest tier that each attestation backend may serve. */
const highestTier: Record<AttestationBackend, number> = { mock: 0, tpm: 255 }

/** The tiers that a node serves: registered on chain, and allowed to its backend. */
export const servedTiers = (node: Node, chain: ChainNode): readonly number[] =>
  chain.modelTiers.filter((tier) => tier <= highestTier[node.certificate.backend])

type Reason = (typeof IneligibleReason)['options'][number]

/** Why a node cannot be drawn for a demand now; none when it can. */
export function ineligibleReasons(
  node: Node,
  chain: ChainNode | undefined,
  demand: Demand,
  now: number,
): readonly Reason[] {
  const since = (at: number | undefined) => (at === undefined ? Number.POSITIVE_INFINITY : now - at)
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
    [chain?.registered === true && !tiers.some((tier) => tier >= demand.minTier), 'no-tier'],
  ]
  return checks.flatMap(([holds, reason]) => (holds ? [reason] : []))
}

/** True when the session key would stop counting while a job of now may still run. */
const endsSoon = ({ certificate }: Node, now: number): boolean =>
  certificate.session.not_after * 1000 < now + jobMs

const lacksModel = (node: Node, { modelId }: Demand): boolean =>
  modelId === undefined ? node.modelIds.length === 0 : !node.modelIds.includes(modelId)
