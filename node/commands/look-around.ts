import { dirname } from 'node:path'
import type { z } from 'zod'
import type { Api } from '../../lib/api.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { namedAddress } from '../../lib/host/keystore.ts'
import { ProblemError } from '../../lib/problem.ts'
import { providerNameOf } from '../../lib/providers.ts'
import type { FaultView } from '../../lib/schemas/fault.ts'
import type { Network } from '../../lib/schemas/network.ts'
import type { NodeRecord } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { weightMovesText } from '../../lib/weight-moves.ts'
import { type AttestationRecord, readRecord } from '../attestation/record.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import { createRegistryReader, type RegistryState } from '../chain/registry.ts'
import type { Config } from '../config.ts'
import type { LoadedConfig } from '../config-file.ts'
import { findProvider, keyOf, type ProviderSettings } from '../inference/providers.ts'
import { checkDisk } from '../journal/check-disk.ts'
import { checkJournal, journalPathOf } from '../journal/read-journal.ts'
import { type CommandContext, warnOf } from './context.ts'
import { type PendingTransaction, pendingTransactions } from './pending-transactions.ts'
import {
  askIcl,
  networkOf,
  newestBlockOf,
  registryEndpoint,
  rpcName,
  withTimeout,
} from './reach.ts'
import { readSignedEvents } from './signed-events.ts'

/** A part's value, or the error why it is missing. */
export type Answer<T> = { readonly value: T } | { readonly error: unknown }

/** A configured model, and whether its provider's key is set. */
type ModelKey = {
  readonly model_id: string
  readonly key_variable: string
  readonly key_needed: boolean
  readonly key_present: boolean
}

/** Everything that is known of a node without its password. */
export type Surroundings = {
  readonly address: Address
  /** Unix seconds. */
  readonly now: number
  readonly certificate: AttestationRecord | undefined
  readonly network: Answer<Network>
  /** The value is undefined when the ICL does not know the node. */
  readonly record: Answer<z.output<typeof NodeRecord> | undefined>
  /** The changes of its weight, in words. Undefined when it has more events than are read, or is not known. */
  readonly moves: Answer<string | undefined>
  readonly chain: Answer<RegistryState>
  /** Whether the chain RPC is in step with the ICL's. Asked for only when the chain was reached. */
  readonly inStep: Answer<unknown>
  /** The wallet's transactions that are in no block yet. Asked for only when the chain was reached. */
  readonly transactions: Answer<readonly PendingTransaction[]>
  /** The unsettled slashes that the ICL has proposed. Asked for only when the chain shows one. */
  readonly accusations: Answer<readonly FaultView[]>
  readonly models: readonly ModelKey[]
  /** Whether files can be written in the journal's folder. */
  readonly disk: Answer<void>
  readonly journal: Answer<void>
}

/** Returns the value of a part, undefined without it. */
export const valueIn = <T>(answer: Answer<T>): T | undefined =>
  'value' in answer ? answer.value : undefined

/** Waits for a part. */
export const answer = async <T>(work: Promise<T>): Promise<Answer<T>> => {
  try {
    return { value: await work }
  } catch (error) {
    return { error }
  }
}

/** Asks the ICL and the chain about this node. A part that is away does not hide the others. Throws SvcErrors of the local files. */
export async function lookAround(
  { config, configPath, keystorePath, attestationPath }: LoadedConfig,
  context: CommandContext,
): Promise<Surroundings> {
  const address = await namedAddress(keystorePath)
  const icl = new URL(config.icl_endpoint).origin
  const params = { address }
  const ask = <T>(
    work: (api: Api, options: { signal: AbortSignal; attempts: number }) => Promise<T>,
  ) => askIcl(icl, context, (api, signal) => work(api, { signal, attempts: 3 }))
  const [network, record, moves] = await Promise.all([
    answer(networkOf(icl, context)),
    answer(ask((api, options) => api.getNode({ params }, options)).catch(orUnknown)),
    answer(ask((api, { signal }) => movesOf(api, address, context.clock.now(), signal))),
  ])
  const chain = await answer(onChain(address, network, config.cofhe_endpoint, context))
  const pending = async () => {
    if (!('value' in network && 'value' in chain)) return []
    const place = registryEndpoint(network.value, config.cofhe_endpoint)
    return await pendingTransactions(configPath, place, address, context)
  }
  const step = async () => {
    if (!('value' in network && 'value' in chain)) return
    const place = registryEndpoint(network.value, config.cofhe_endpoint)
    await withTimeout(context, rpcName(place.rpcUrl), (signal) =>
      newestBlockOf(icl, place, context, signal),
    )
  }
  const isAccused = (valueIn(chain)?.registration?.pendingSlashes ?? 0) > 0
  // The open slashes among the node's latest faults.
  const accusationsOf = async () => {
    const { faults } = await ask((api, options) =>
      api.getNodeFaults({ params, query: {} }, options),
    )
    return faults.filter(({ slash }) => slash?.state === 'proposed')
  }
  return {
    address,
    now: unixSeconds(context.clock),
    certificate: await readRecord(attestationPath, { address, icl }),
    network,
    record,
    moves,
    chain,
    inStep: await answer(step()),
    transactions: await answer(pending()),
    accusations: isAccused ? await answer(accusationsOf()) : { value: [] },
    models: modelKeys(config, context),
    disk: await answer(checkDisk(dirname(configPath))),
    journal: await answer((async () => checkJournal(journalPathOf(configPath)))()),
  }
}

function orUnknown(error: unknown): undefined {
  if (!(error instanceof ProblemError && error.code === 'node-not-found')) throw error
}

const mostPages = 10

async function movesOf(
  api: Api,
  address: Address,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { events, isComplete } = await readSignedEvents(api, address, mostPages, signal)
  return isComplete ? weightMovesText(events, now) : undefined
}

async function onChain(
  address: Address,
  network: Answer<Network>,
  rpcUrl: string,
  context: CommandContext,
): Promise<RegistryState> {
  if ('error' in network) {
    throw new SvcError('icl-needed', 'only the ICL knows the chain and its contracts', {
      hint: 'Bring the ICL back first.',
      retryable: true,
    })
  }
  const place = registryEndpoint(network.value, rpcUrl)
  return await withTimeout(context, rpcName(rpcUrl), async (signal) => {
    await checkEndpoint(place, signal, warnOf(context))
    return await createRegistryReader(place).stateOf(address, signal)
  })
}

const modelKeys = (
  config: Pick<Config, 'supported_model_ids'> & ProviderSettings,
  { environment }: CommandContext,
): readonly ModelKey[] =>
  config.supported_model_ids.map((model_id) => {
    const provider = findProvider(providerNameOf(model_id), config)
    const key_present = keyOf(provider, environment) !== undefined
    return {
      model_id,
      key_variable: provider.keyVariable,
      key_needed: provider.needsKey,
      key_present,
    }
  })
