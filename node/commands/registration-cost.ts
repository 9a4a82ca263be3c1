import type { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import { createRegistryReader, registerGas } from '../chain/registry.ts'
import type { Config } from '../config.ts'
import { allowanceOf } from './allowance.ts'
import { etherText, toSend } from './amounts.ts'
import { type CommandContext, warnOf } from './context.ts'
import { workingGas } from './diagnose-node.ts'
import { type Answer, answer } from './look-around.ts'
import type { Prompts } from './prompts.ts'
import { ownNetworkOf, registryEndpoint, rpcName, withTimeout } from './reach.ts'

const patienceMs = 5_000
const lookMs = 3_000

type Places = Pick<
  Config,
  'icl_endpoint' | 'cofhe_endpoint' | 'deployment' | 'register_up_to' | 'node_registry'
>

/** The cost of registering a new node. */
export type RegistrationCost = Awaited<ReturnType<typeof askCost>>

/** Asks the ICL and the chain for the cost of registering, or returns the error: `init` works without them. */
export const registrationCost = (
  places: Places,
  context: CommandContext,
): Promise<Answer<RegistrationCost>> => answer(askCost(places, context))

async function askCost(places: Places, context: CommandContext) {
  const signal = AbortSignal.timeout(patienceMs)
  const network = await ownNetworkOf(places, context, signal)
  const place = registryEndpoint(network, places.cofhe_endpoint)
  await checkEndpoint(place, signal, warnOf(context))
  const registry = createRegistryReader(place)
  const { minStake, gasPrice } = await registry.terms(signal)
  // The price may rise until the money arrives, and the first jobs need gas, too.
  const gas = (2n * registerGas + workingGas) * gasPrice
  const { nodeRegistry, chainId } = place
  return {
    registry,
    nodeRegistry,
    minStake,
    /** Wei of stake and gas together. */
    total: toSend(minStake + gas),
    /** Whether `run` may pay for it. */
    registersItself: (allowanceOf(places, chainId)?.wei ?? 0n) >= minStake + registerGas * gasPrice,
    text: `a stake of at least ${etherText(minStake)}, and ${etherText(gas)} for gas to begin with`,
    json: {
      min_stake_wei: String(minStake),
      gas_wei: String(gas),
      node_registry: nodeRegistry,
    },
  }
}

/** Offers to register the new node at that cost, and waits until its wallet has the money. */
export async function offerToRegister(
  prompts: Prompts,
  address: Address,
  cost: RegistrationCost,
  made: { readonly config: Places; readonly password: string },
  context: CommandContext,
): Promise<void> {
  const { registry, nodeRegistry, minStake, total, text } = cost
  const { icl_endpoint, cofhe_endpoint } = made.config
  const rpc = rpcName(cofhe_endpoint)
  const isFunded = async (stop?: AbortSignal) => {
    const ask = (signal: AbortSignal) => registry.balanceOf(address, signal)
    return (await withTimeout(context, rpc, ask, stop)) >= total
  }
  const question = `Register now at NodeRegistry ${nodeRegistry}, with ${text}?`
  if (!(await prompts.confirm(question, false))) return
  if (!(await isFunded())) {
    await prompts.wait(
      `Send ${etherText(total)} to ${address}. Waiting until it is there (Ctrl-C leaves, nothing is lost)`,
      async (signal) => {
        while (!(await isFunded(signal).catch(notNow(signal)))) {
          await context.clock.sleep(lookMs, signal)
        }
      },
    )
  }
  const { register } = await import('./register.ts')
  const environment = {
    ...context.environment,
    SVC_KEY_PASSWORD: made.password,
    SVC_ICL_ENDPOINT: icl_endpoint,
    SVC_COFHE_ENDPOINT: cofhe_endpoint,
  }
  // The operator agreed to these terms, even if the ICL names others now.
  const agreed = { yes: true, stake: minStake, nodeRegistry }
  await register(agreed, { ...context, environment })
}

/** Ignores a retryable chain error while the money is on its way. */
const notNow =
  (signal: AbortSignal) =>
  (error: unknown): false => {
    signal.throwIfAborted()
    if (error instanceof SvcError && error.retryable) return false
    throw error
  }
