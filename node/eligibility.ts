import type { IneligibleReason } from '../lib/schemas/nodes.ts'

/** What the operator must do about each reason for which the ICL does not consider a node. */
export const remedies: Readonly<Record<IneligibleReason, string>> = {
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
  'no-recent-poll':
    'it has not polled for assignments lately. This passes when polls succeed, see the log of `svc-node run`',
  'no-free-slot': 'all its slots are busy. This passes',
  leaving: 'it reported that it is stopping: start `svc-node run` again',
  'certificate-expired': 'its attestation certificate has expired: run `svc-node attest`',
  'no-heartbeat':
    'the ICL has no recent heartbeat of it: start `svc-node run`, and check the clock of this machine',
  'chain-unavailable': 'the ICL cannot read the chain now. This passes',
}

const passing: ReadonlySet<IneligibleReason> = new Set([
  'no-recent-poll',
  'no-free-slot',
  'chain-unavailable',
])

/** Whether a reason passes without the operator. */
export const passesByItself = (reason: IneligibleReason): boolean => passing.has(reason)

const heartbeatWithinSeconds = 150

/** What is publicly known of a node. Times are Unix seconds. */
export type NodeFacts = {
  readonly now: number
  /** Undefined when the chain could not be read. */
  readonly registration:
    | { readonly active: boolean; readonly unbondingAt: number }
    | 'not-registered'
    | undefined
  readonly certificateExpiresAt: number
  readonly lastHeartbeat: number
  /** The tiers that the ICL lets the node serve. */
  readonly tiers: readonly number[]
  readonly offersModel: boolean
}

/** Returns the reasons that the facts show, in the ICL's order. The ICL's responses to heartbeats are authoritative. */
export function reasonsOf(facts: NodeFacts): readonly IneligibleReason[] {
  const { registration, now } = facts
  const known = typeof registration === 'object' ? registration : undefined
  const unbonding = known !== undefined && known.unbondingAt !== 0
  const checks: readonly [boolean, IneligibleReason][] = [
    [facts.certificateExpiresAt <= now, 'certificate-expired'],
    [registration === 'not-registered', 'not-registered'],
    [unbonding, 'stake-unbonding'],
    [known?.active === false && !unbonding, 'chain-inactive'],
    [now - facts.lastHeartbeat > heartbeatWithinSeconds, 'no-heartbeat'],
    [!facts.offersModel, 'no-model'],
    [known !== undefined && facts.tiers.length === 0, 'no-tier'],
  ]
  return checks.flatMap(([holds, reason]) => (holds ? [reason] : []))
}
