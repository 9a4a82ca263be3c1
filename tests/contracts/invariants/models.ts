import type { Hex } from 'viem'
import { type FuzzChain, minStake } from './fuzz-chain.ts'
import { createKeyListModel } from './key-list-model.ts'
import { createAccessModel, createKeyStoreModel } from './key-store-model.ts'
import { createNodeRegistryModel } from './node-registry-model.ts'
import { createRecorder } from './outcome.ts'
import { createResultRegistryModel } from './result-registry-model.ts'

/** The three contracts and the access list as they are meant. */
export const createModels = (chain: FuzzChain) => {
  const { coordinator, arbiter, treasury, contracts } = chain
  const recorder = createRecorder()
  const terms = { coordinator, arbiter, treasury, minStake }
  const nodes = createNodeRegistryModel(terms, recorder, chain.receives)
  const access = createAccessModel()
  const keys = createKeyStoreModel(contracts.promptKeyStore, access, recorder)
  const lists = createKeyListModel(keys, nodes.isActive, recorder)
  const results = createResultRegistryModel(coordinator, recorder)
  /** Handles that another contract has had verified, and for whom. */
  const verified: { readonly handle: bigint; readonly account: Hex }[] = []
  return { recorder, nodes, access, keys, lists, results, verified }
}

export type Models = ReturnType<typeof createModels>
