import type { Registration, RegistryStep, RegistryTerms } from '../chain/registry.ts'

/** The wanted registration. What is left out stays as it is, or gets the minimum. */
export type Wanted = {
  /** The total, in wei. */
  readonly stake?: bigint | undefined
  readonly tiers?: readonly number[] | undefined
}

const heartbeatDueSeconds = 10 * 86_400

/** Returns the transactions that lead from the current to the wanted registration, in order. */
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

/** Returns the wei that the steps add to the stake. */
export const stakeIn = (steps: readonly RegistryStep[]): bigint =>
  steps.reduce((sum, step) => sum + ('value' in step ? step.value : 0n), 0n)
