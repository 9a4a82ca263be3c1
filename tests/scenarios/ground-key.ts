import { unixSeconds } from '../../lib/clock.ts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { drawNodes } from '../../lib/draw.ts'
import { candidatesOf, listSeedOf } from '../../lib/list.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import type { PromptNeeds } from '../../lib/schemas/prompt-needs.ts'
import { chainId, modelId, origin, walletOf } from '../icl/test-icl.ts'
import { listKey } from '../listed-key.ts'
import { sampleNetwork } from '../sample-network.ts'
import { patient } from '../simulation/node.ts'
import type { World } from '../simulation/world.ts'
import type { GasMeter } from './gas.ts'

/** What a client wants of a list, by the nodes at its front. */
export type Wanted = (list: readonly Address[]) => boolean

// Handles of others are below.
let nextHandle = 1n << 200n

/**
 * A prompt key with its list. A client that wants a list of a certain kind stores keys until one has it, at most `tries`: each costs gas, and only
 * the last one is asked about. Undefined when that is not it, either.
 */
export async function groundKey(
  { icl, chain, clock }: Pick<World, 'icl' | 'chain' | 'clock'>,
  {
    client: name,
    comparator,
    wanted,
    tries = 1,
    needs,
    meter,
  }: {
    readonly client: string
    readonly comparator: ComparatorId
    readonly wanted?: Wanted | undefined
    readonly tries?: number | undefined
    readonly needs?: PromptNeeds | undefined
    readonly meter: GasMeter
  },
) {
  const client = walletOf(name)
  const api = icl.api(client.signer)
  const listLength = 9
  const query = { model_id: modelId, min_tier: 0, verifier_count: 2, comparator }
  const { pool_cid } = await api.previewQuorum({ query }, patient)
  const { nodes } = await readPool(pool_cid, (cid) => api.getBlob({ params: { cid } }, patient))
  const terms = { model_id: modelId, min_tier: 0, comparator, ...(needs && { needs }) }
  const candidates = candidatesOf(nodes, terms, client.address)
  const store = sampleNetwork().contracts.prompt_key_store
  const listed = await listKey(api, {
    ...{ origin, modelId, comparator, listLength, calls: patient },
    ...(needs && { needs }),
    storeKey: async (termsHash) => {
      const source = { chainId, store, client: client.address, termsHash }
      for (let attempt = 1; ; attempt++) {
        const [high, low] = [nextHandle++, nextHandle++]
        meter.spend('storeKey')
        const { blockHash } = chain
        const seed = listSeedOf({ ...source, kpHighHandle: high, kpLowHandle: low, blockHash })
        const list = drawNodes(seed, candidates, listLength)
        if (attempt < tries && wanted && !wanted(list)) continue
        const at = unixSeconds(clock)
        const blockNumber = chain.storeKey(high, low, client.address, termsHash, at)
        return { highHandle: high, lowHandle: low, blockNumber }
      }
    },
  })
  if (wanted && !wanted(listed.list.body.list)) return undefined
  return { ...listed, client, api }
}
