import { SvcError } from '../../lib/svc-error.ts'
import { registerGas } from '../chain/registry.ts'
import { type Allowance, allowanceOf } from './allowance.ts'
import { etherText } from './amounts.ts'
import { type AtRegistry, type NodeAt, withRegistry } from './at-registry.ts'
import type { CommandContext } from './context.ts'
import { anotherRegistry, checkBalance, stepText } from './register.ts'
import { untilReached } from './until-reached.ts'

/*
 * Problem: an ICL draws registered nodes only, and the specification's operator calls `init`, `attest` and `run` alone.
 * Idea: `run` registers the wallet, for as much as the operator allowed.
 * Invariants: nothing is sent for a registered wallet, to another contract than the one named, above the allowed amount with the highest
 * fee that a transaction may reach, or while a transaction of the wallet is pending, perhaps of an earlier run. NodeRegistry refuses a
 * second registration. The lock excludes `svc-node register`.
 * Failure cases: without the money, the chain or the lock the daemon starts all the same, and tries again after 2 s, then up to each
 * minute. A transaction that is in no block after two minutes keeps its limit: it waits, as `svc-node transactions` shows.
 */

/** Registers the node if it is not registered and the operator allowed the cost. Resolves after the first try. Others follow until `stop`. */
export async function registerItself(
  node: NodeAt,
  context: CommandContext,
  stop: AbortSignal,
): Promise<void> {
  const { log, loaded, network } = node
  const allowance = allowanceOf(loaded.config, network.chain_id)
  if (allowance === undefined) {
    if (loaded.config.register_up_to) log.warning(contractMissing)
    return
  }
  const first = Promise.withResolvers<void>()
  stop.addEventListener('abort', () => first.resolve(), { once: true })
  let told: string | undefined
  const tell = (why: string) => {
    if (why !== told) log.warning(`Not registered yet, trying again each minute: ${why}`)
    told = why
    first.resolve()
  }
  const attempt = () =>
    withRegistry(node, context, (at) => registerOnce(at, allowance, (text) => log.info(text)))
  void untilReached(context.clock, stop, attempt, tell, () => true).finally(first.resolve)
  await first.promise
}

async function registerOnce(
  { address, place, readSettled, send }: AtRegistry,
  { wei, nodeRegistry = place.nodeRegistry }: Allowance,
  say: (text: string) => void,
): Promise<void> {
  const state = await readSettled()
  if (state.registration !== undefined) return
  if (nodeRegistry !== place.nodeRegistry) throw anotherRegistry(place)
  const { minStake, gasPrice } = state.terms
  const forGas = wei - minStake
  if (forGas < registerGas * gasPrice) throw tooDear(minStake, registerGas * gasPrice, wei)
  const step = { call: 'register', tiers: [0], value: minStake } as const
  checkBalance(address, state, [step])
  const tx = await send(step, forGas / registerGas)
  say(`Done: ${stepText(step)}, transaction ${tx}`)
}

const contractMissing =
  'register_up_to has no effect, because the ICL could name a contract of its own: set node_registry (SVC_NODE_REGISTRY), or deployment'

const tooDear = (stake: bigint, gas: bigint, allowed: bigint): SvcError =>
  new SvcError(
    'register-limit',
    `registering takes ${etherText(stake)} of stake and up to ${etherText(gas)} of gas, and ${etherText(allowed)} are allowed`,
    { hint: 'Raise register_up_to (SVC_REGISTER_UP_TO), or run `svc-node register`.' },
  )
