import type { AttestationBackend, IneligibleReason } from '../lib/schemas/nodes.ts'
import type { Registration } from './chain/registry.ts'

/** Why the ICL does not consider a node: its own reasons, and that it has yet to read a new registration. */
type Reason = IneligibleReason | 'registration-unseen'

/** What the operator must do about each reason for which the ICL does not consider a node. */
export const remedies: Readonly<Record<Reason, string>> = {
  'not-registered': 'the wallet is not in NodeRegistry: run `svc-node register`',
  'chain-inactive':
    'NodeRegistry shows it inactive: its on-chain heartbeat is too old or its stake too low. Check that the wallet has gas money and run `svc-node register`',
  'stake-unbonding': 'its stake is unbonding: run `svc-node register` to stay',
  'no-model':
    'it offers no model: check supported_model_ids, the provider key variables, and what the log says of the providers',
  'no-comparator':
    'it cannot compare by the comparator that is asked for: install a newer svc-node',
  'no-tier':
    'it serves no tier: register tiers that its attestation backend allows (`svc-node register --tiers 0` for mock)',
  'registration-unseen': 'the ICL has not seen its registration yet. This passes within a minute',
  'no-recent-poll':
    'it has not polled for assignments lately. This passes when polls succeed, see the log of `svc-node run`',
  'no-free-slot': 'all its slots are busy. This passes',
  leaving: 'it reported that it is stopping: start `svc-node run` again',
  'certificate-expired': 'its attestation certificate has expired: run `svc-node attest`',
  'no-heartbeat':
    'the ICL has no recent heartbeat of it: start `svc-node run`, and check the clock of this machine',
  'chain-unavailable': 'the ICL cannot read the chain now. This passes',
}

const passing: ReadonlySet<Reason> = new Set([
  'registration-unseen',
  'no-recent-poll',
  'no-free-slot',
  'chain-unavailable',
])

/** Whether a reason passes without the operator. */
export const passesByItself = (reason: Reason): boolean => passing.has(reason)

const heartbeatWithinSeconds = 150

/** What NodeRegistry and the ICL know of a node's registration. */
export type RegistrationFacts = {
  /** Undefined when the chain could not be read. */
  readonly registration:
    | Pick<Registration, 'active' | 'unbondingAt' | 'modelTiers'>
    | 'not-registered'
    | undefined
  readonly backend: AttestationBackend
  /** The tiers that the node serves by the ICL's word. Undefined when the ICL could not be asked. */
  readonly servedTiers: readonly number[] | undefined
}

/** Returns why a registration gets a node no jobs. */
export function registrationReasons(facts: RegistrationFacts): readonly Reason[] {
  const { registration, backend, servedTiers } = facts
  if (registration === undefined) return []
  if (registration === 'not-registered') return ['not-registered']
  const { active, unbondingAt, modelTiers } = registration
  const servesNone = servedTiers?.length === 0
  // Every attestation allows tier 0.
  const allowsTier = modelTiers.includes(0) || (backend === 'tpm' && !servesNone)
  const checks: readonly [boolean, Reason][] = [
    [unbondingAt !== 0, 'stake-unbonding'],
    [!active && unbondingAt === 0, 'chain-inactive'],
    [!allowsTier, 'no-tier'],
    [allowsTier && servesNone, 'registration-unseen'],
  ]
  return holding(checks)
}

const holding = (checks: readonly [boolean, Reason][]): readonly Reason[] =>
  checks.flatMap(([holds, reason]) => (holds ? [reason] : []))

/** What is publicly known of a node. Times are Unix seconds. */
export type NodeFacts = RegistrationFacts & {
  readonly now: number
  readonly certificateExpiresAt: number
  readonly lastHeartbeat: number
  readonly offersModel: boolean
}

/** Returns the reasons that the facts show. The ICL's responses to heartbeats are authoritative. */
export const reasonsOf = (facts: NodeFacts): readonly Reason[] => [
  ...holding([[facts.certificateExpiresAt <= facts.now, 'certificate-expired']]),
  ...registrationReasons(facts),
  ...holding([
    [facts.now - facts.lastHeartbeat > heartbeatWithinSeconds, 'no-heartbeat'],
    [!facts.offersModel, 'no-model'],
  ]),
]
