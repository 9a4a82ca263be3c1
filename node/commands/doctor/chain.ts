import { rpcUrlsOf } from '../../../lib/chain/rpc-list.ts'
import { unixSeconds } from '../../../lib/clock.ts'
import type { Address } from '../../../lib/codecs.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { checking, failed, ok, skipped } from '../../../lib/host/checks.ts'
import type { Network } from '../../../lib/schemas/network.ts'
import type { AttestationBackend } from '../../../lib/schemas/nodes.ts'
import { newestText } from '../../chain/behind.ts'
import { checkEndpoint } from '../../chain/check-endpoint.ts'
import { createRegistryReader, deliveryGas } from '../../chain/registry.ts'
import { passesByItself, registrationReasons, remedies } from '../../eligibility.ts'
import { etherText, toSend } from '../amounts.ts'
import type { CommandContext } from '../context.ts'
import { workingGas } from '../diagnose-node.ts'
import { pendingText, pendingTransactions, stuckRemedy } from '../pending-transactions.ts'
import { askIcl, newestBlockOf, registryEndpoint, rpcName, withTimeout } from '../reach.ts'

type Target = {
  readonly rpcUrl: string
  readonly icl: string
  readonly network: Network
  readonly backend: AttestationBackend
  readonly configPath: string
  readonly context: CommandContext
}

const names = ['chain', 'contracts', 'wallet', 'transactions', 'registration'] as const

/** The skipped checks of the chain, when the ICL has not named it. */
export const withoutNetwork = (): readonly Check[] =>
  names.map((name) => skipped(name, 'needs the ICL, which names the chain and its contracts'))

/** Checks that the RPC is for the right chain, that the contracts exist, and that the wallet has gas money and is registered. */
export async function checkChain(
  target: Target,
  address: Address | undefined,
): Promise<readonly Check[]> {
  const chain = await Promise.all(rpcUrlsOf(target.rpcUrl).map((url) => checkRpc(target, url)))
  if (chain.every(({ status }) => status !== 'ok')) {
    return [...chain, ...names.slice(1).map((other) => skipped(other, 'needs the chain RPC'))]
  }
  const [contracts, wallet, transactions, registration] = await Promise.all([
    checkContracts(target),
    checkBalance(target, address),
    checkTransactions(target, address),
    checkRegistration(target, address),
  ])
  return [...chain, contracts, wallet, transactions, registration]
}

/** Checks that one RPC is for the right chain, and in step with it. */
async function checkRpc({ network, icl, context }: Target, rpcUrl: string): Promise<Check> {
  const place = registryEndpoint(network, rpcUrl)
  const name = rpcName(rpcUrl)
  const check = await checking('chain', () =>
    withTimeout(context, name, async (signal) => {
      await checkEndpoint(place, signal)
      const newest = await newestBlockOf(icl, place, context, signal)
      const text = newestText(newest, unixSeconds(context.clock))
      return ok('chain', `${name} is chain ${place.chainId}, ${text}`)
    }),
  )
  const { host } = new URL(rpcUrl)
  return check.detail.includes(host) ? check : { ...check, detail: `${host}: ${check.detail}` }
}

type Reader = ReturnType<typeof createRegistryReader>

const asking = <T>(
  { network, rpcUrl, context }: Target,
  work: (registry: Reader, signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const registry = createRegistryReader(registryEndpoint(network, rpcUrl))
  return withTimeout(context, rpcName(rpcUrl), (signal) => work(registry, signal))
}

const checkContracts = (target: Target): Promise<Check> =>
  checking('contracts', async () => {
    const name = 'contracts'
    const { node_registry, prompt_key_store, result_registry } = target.network.contracts
    const named = {
      NodeRegistry: node_registry,
      PromptKeyStore: prompt_key_store,
      ResultRegistry: result_registry,
    }
    const empty = await asking(target, (registry, signal) =>
      registry.withoutCode(Object.values(named), signal),
    )
    if (empty.length === 0) return ok(name, Object.keys(named).join(', '))
    const missing = Object.entries(named).filter(([, address]) => empty.includes(address))
    return failed(
      name,
      `there is no contract at ${missing.map(([what, address]) => `${what} ${address}`).join(', ')}`,
      "Tell the ICL's operator, and check that the chain RPC is in step with its chain.",
    )
  })

const checkBalance = (target: Target, address: Address | undefined): Promise<Check> =>
  checking('wallet', async () => {
    const name = 'wallet'
    if (address === undefined) return skipped(name, 'needs the keystore')
    const [balance, { gasPrice }] = await asking(target, (registry, signal) =>
      Promise.all([registry.balanceOf(address, signal), registry.terms(signal)]),
    )
    const needed = workingGas * gasPrice
    if (balance >= needed) return ok(name, `${address} has ${etherText(balance)}`)
    return failed(
      name,
      `${address} has ${etherText(balance)}, too little for ${balance < deliveryGas * gasPrice ? 'one answer: the node takes no work' : 'gas'}`,
      `Send ${etherText(toSend(needed - balance))} or more to it.`,
    )
  })

const checkTransactions = (
  { network, rpcUrl, configPath, context }: Target,
  address: Address | undefined,
): Promise<Check> =>
  checking('transactions', async () => {
    const name = 'transactions'
    if (address === undefined) return skipped(name, 'needs the keystore')
    const place = registryEndpoint(network, rpcUrl)
    const pending = await withTimeout(context, rpcName(rpcUrl), (signal) =>
      pendingTransactions(configPath, place, address, context, signal),
    )
    const texts = pending.map(pendingText).join('; ')
    const remedy = stuckRemedy(pending)
    if (remedy === undefined) return ok(name, texts === '' ? 'none waits for a block' : texts)
    return failed(name, `${pending.length} in no block: ${texts}`, remedy, true)
  })

/** The tiers that the node serves by the ICL's word. Undefined when the ICL does not know the node, or cannot be asked. */
const servedTiersOf = ({ icl, context }: Target, address: Address) =>
  askIcl(icl, context, (api, signal) => api.getNode({ params: { address } }, { signal })).then(
    ({ model_tiers }) => model_tiers,
    () => undefined,
  )

const checkRegistration = (target: Target, address: Address | undefined): Promise<Check> =>
  checking('registration', async () => {
    const name = 'registration'
    if (address === undefined) return skipped(name, 'needs the keystore')
    const [found, servedTiers] = await Promise.all([
      asking(target, (registry, signal) => registry.registrationOf(address, signal)),
      servedTiersOf(target, address),
    ])
    const [reason] = registrationReasons({
      ...{ registration: found ?? 'not-registered', backend: target.backend },
      servedTiers,
    })
    if (found === undefined || reason !== undefined) {
      const why = reason ?? 'not-registered'
      return failed(name, remedies[why], undefined, passesByItself(why))
    }
    if (found.pendingSlashes > 0) {
      return failed(
        name,
        `${found.pendingSlashes} accusations against this node are pending`,
        '`svc-node status` names them and says what to do.',
      )
    }
    const tiers = found.modelTiers.join(', ')
    return ok(name, `active for tier ${tiers} with ${etherText(found.stake)} at stake`)
  })
