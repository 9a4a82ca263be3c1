import type { Hex } from 'viem'
import type { Address } from '../../lib/codecs.ts'
import { usageError } from '../../lib/host/program/program.ts'
import { SvcError } from '../../lib/svc-error.ts'
import {
  type Registration,
  type RegistryEndpoint,
  type RegistryState,
  type RegistryStep,
  registerGas,
  registrationJson,
} from '../chain/registry.ts'
import { etherText, toSend } from './amounts.ts'
import { type AtRegistry, atRegistry } from './at-registry.ts'
import type { CommandContext, Unasked } from './context.ts'
import type { Given } from './options.ts'
import { planRegistration, stakeIn, type Wanted } from './plan-registration.ts'
import { confirmed } from './prompts.ts'

/** Registers the node on chain, or updates its registration. Idempotent (spec 1). Throws SvcErrors. */
export async function register(
  { nodeRegistry, ...flags }: Partial<Given<'register'>>,
  context: CommandContext,
): Promise<undefined> {
  await atRegistry(context, async (at) => {
    if (nodeRegistry !== undefined && nodeRegistry !== at.place.nodeRegistry) {
      throw anotherRegistry(at.place)
    }
    await bringUpToDate(at, flags, context)
  })
}

/** The error when the ICL names another contract than the operator expects. The stake would go to it. */
export const anotherRegistry = ({ nodeRegistry }: RegistryEndpoint): SvcError =>
  new SvcError('registry-differs', `the ICL names another NodeRegistry: ${nodeRegistry}`, {
    hint: 'Send it nothing before you know why: check --node-registry and SVC_ICL_ENDPOINT.',
  })

async function bringUpToDate(
  { address, backend, place, readSettled, read, send }: AtRegistry,
  wanted: Wanted & Unasked,
  context: CommandContext,
): Promise<void> {
  const before = await readSettled()
  const { terms } = before
  if (backend === 'mock' && wanted.tiers?.includes(0) === false) {
    throw usageError(
      `a node that attests by mock serves tier 0 alone, and --tiers ${wanted.tiers.join()} leaves it out`,
      'Add 0, or attest by a TPM.',
    )
  }
  if (wanted.stake !== undefined && wanted.stake < terms.minStake) {
    throw usageError(
      `--stake is below the smallest stake of ${etherText(terms.minStake)}`,
      'Leave --stake out to stake just that.',
    )
  }
  const steps = planRegistration(before.registration, terms, wanted)
  if (steps.length > 0) {
    checkBalance(address, before, steps)
    const where = `${address} at NodeRegistry ${place.nodeRegistry} on chain ${place.chainId}`
    const message = `${steps.map(stepText).join(', then ')} (as ${where})?`
    await confirmed(context, wanted, message)
  }
  const sent: { readonly call: string; readonly tx: Hex }[] = []
  for (const step of steps) {
    const tx = await send(step)
    sent.push({ call: step.call, tx })
    // Told at once, because a later step may fail.
    const tell = wanted.json ? context.warn : context.print
    tell(`Done: ${stepText(step)}, transaction ${tx}`)
  }
  const { registration } = sent.length === 0 ? before : await read()
  report(address, registration, wanted, sent, context)
}

/** Describes a step to the operator. */
export function stepText(step: RegistryStep): string {
  switch (step.call) {
    case 'register':
      return `register for tier ${step.tiers.join(', ')} with a stake of ${etherText(step.value)}`
    case 'addStake':
      return `add ${etherText(step.value)} to the stake`
    case 'setModelTiers':
      return `serve tier ${step.tiers.join(', ')}`
    case 'cancelUnbonding':
      return 'cancel the unbonding'
    case 'beginUnbonding':
      return 'start unbonding the stake'
    case 'answer':
      return `answer the accusation ${step.faultId}`
    case 'heartbeat':
      return 'send the on-chain heartbeat'
    case 'withdraw':
      return 'withdraw the stake'
  }
}

/** Throws SvcError `no-funds` when the wallet cannot pay for the steps. */
export function checkBalance(
  address: Address,
  { balance, terms }: RegistryState,
  steps: readonly RegistryStep[],
): void {
  const gas = registerGas * terms.gasPrice * BigInt(steps.length)
  const needed = stakeIn(steps) + gas
  if (balance >= needed) return
  throw new SvcError(
    'no-funds',
    `the wallet has ${etherText(balance)}, but this takes ${etherText(stakeIn(steps))} of stake and up to ${etherText(gas)} of gas`,
    { hint: `Send at least ${etherText(toSend(needed - balance))} to ${address}, then try again.` },
  )
}

function report(
  address: string,
  registration: Registration | undefined,
  wanted: Wanted & Unasked,
  sent: readonly { readonly call: string; readonly tx: Hex }[],
  { print }: CommandContext,
): void {
  if (wanted.json) {
    print(JSON.stringify({ address, ...registrationJson(registration), transactions: sent }))
    return
  }
  const isLess = wanted.stake !== undefined && wanted.stake < (registration?.stake ?? 0n)
  const why = isLess ? 'only `svc-node unregister` frees stake' : 'the registration is as wanted'
  if (sent.length === 0) print(`Nothing to do: ${why}.`)
  if (registration === undefined) return
  const { stake, modelTiers, active } = registration
  print(
    `${address} is registered for tier ${modelTiers.join(', ')} with ${etherText(stake)} at stake and ${active ? 'active' : 'not active'}.`,
  )
  if (sent.some(({ call }) => call === 'register')) print('Next: svc-node attest')
}
