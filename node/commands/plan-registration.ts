import type { Registration, RegistryStep, RegistryTerms } from '../chain/registry.ts'

/** What the operator wants of the registration; what is left out stays as it is, or is the least. */
export type Wanted = {
  /** Wei in all. */
  readonly stake?: bigint | undefined
  readonly tiers?: readonly number[] | undefined
}

const heartbeatDueSeconds = 10 * 86_400

/** The transactions that make a registration what is wanted, in order; none when it is so already. */
export function planRegistration(
  current: Registration | undefined,
  terms: Pick<RegistryTerms, 'minStake' | 'now'>,
  wanted: Wanted,
): readonly RegistryStep[] {
  const stake = wanted.stake ?? terms.minStake
  if (current === undefined) {
    return [{ call: 'register', tiers: wanted.tiers ?? [0], value: stake }]
  }
  const steps: RegistryStep[] = []
  if (current.unbondingAt !== 0) steps.push({ call: 'cancelUnbonding' })
  if (current.stake < stake) steps.push({ call: 'addStake', value: stake - current.stake })
  const { tiers } = wanted
  if (tiers !== undefined && tiers.join() !== current.modelTiers.join()) {
    steps.push({ call: 'setModelTiers', tiers })
  }
  if (terms.now - current.lastHeartbeat >= heartbeatDueSeconds) steps.push({ call: 'heartbeat' })
  return steps
}

/** Wei that the steps move into the stake. */
export const stakeIn = (steps: readonly RegistryStep[]): bigint =>
  steps.reduce((sum, step) => sum + ('value' in step ? step.value : 0n), 0n)
