import type { Dependencies } from '../../../icl/dependencies.ts'
import { currentPool, replacePool } from '../../../icl/operations/publish-pool.ts'
import { memberStates } from '../../../icl/pool/load-pool.ts'
import type { Address } from '../../../lib/codecs.ts'
import { drawList, type ListSource } from '../../../lib/list.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import { longestTurn } from '../turns.ts'

/** Commands that do parts of an ICL's work, to be measured apart from requests. */
export const growthCommands = (deps: Dependencies) => ({
  /** Publishes the pool anew, so often. Returns the longest turn of the thread of each time, in milliseconds of processor time. */
  publish: async ({ times }: { readonly times: number }) => {
    const turns: number[] = []
    for (let time = 0; time < times; time++) turns.push(await longestTurn(() => replacePool(deps)))
    return turns
  },
  /** Draws lists from the current pool, so often, each with another seed. Returns the last. */
  draw: async ({ times, terms }: { readonly times: number; readonly terms: Terms }) => {
    const { nodes } = await currentPool(deps)
    let list: readonly Address[] = []
    for (let time = 0; time < times; time++) {
      list = drawList({ ...source, kpHighHandle: BigInt(time) }, terms, nodes)
    }
    return list
  },
  /** Looks up the members of a list for a job's seats, so often. */
  seats: async ({
    times,
    members,
  }: {
    readonly times: number
    readonly members: readonly Address[]
  }) => {
    for (let time = 0; time < times; time++) await memberStates(deps, members, { minTier: 0 })
  },
})

const hash = `0x${'3'.repeat(64)}`
const address = `0x${'1'.repeat(40)}`
const source = {
  ...{ chainId: 1, store: address, client: address, kpLowHandle: 2n },
  ...{ termsHash: hash, blockHash: hash },
} as unknown as ListSource
