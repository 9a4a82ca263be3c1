import type { IneligibleReason } from '../lib/schemas/nodes.ts'

/** What an operator does about each reason why the ICL does not consider a node. */
export const remedies: Readonly<Record<IneligibleReason, string>> = {
  'not-registered': 'the wallet is not in NodeRegistry; register it with a stake',
  'chain-inactive':
    'NodeRegistry shows it inactive; see that the wallet has gas for the on-chain heartbeat and enough stake',
  'stake-unbonding': 'its stake is unbonding; cancel that to take jobs again',
  'no-model': 'it offers no model; check supported_model_ids and the provider key variables',
  'no-tier': 'it serves no tier; register model tiers that its attestation backend allows',
  'no-recent-poll': 'it has not polled for assignments lately; this passes when polls succeed',
  'no-free-slot': 'all its slots are busy; this passes',
  leaving: 'it said that it is stopping; this passes with the next heartbeat',
  'certificate-expired': 'its attestation certificate has expired; run `svc-node attest`',
  'no-heartbeat': 'the ICL has no recent heartbeat of it; check the clock of this machine',
  'chain-unavailable': 'the ICL cannot read the chain now; this passes',
}
