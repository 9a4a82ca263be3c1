import { type Hex, keccak256 } from 'viem'
import { Address, JobId } from '../../lib/codecs.ts'
import { type ListTerms, listCommitment } from '../../lib/list-commitment.ts'
import type { createKeyActions, TestKey } from './stored-keys.ts'
import { DAY_S, type TestChain } from './test-chain.ts'

export const OWNER = 4
export const ACTIVATOR = 5
/** Active nodes on the list, at positions 0 to 2. */
export const NODES = [6, 7, 8] as const
/** An active node that is not on the list. */
export const STRANGER = 9
/** Position 3 of the list: an account that is no node. */
export const IDLE = 3

export const jobId = JobId.parse(keccak256('0x0a'))

/** A list that is bound to a key, and what it takes to open its commitment. */
export type ListedKey = TestKey & {
  readonly terms: ListTerms
  readonly list: readonly Address[]
  readonly until: bigint
  readonly commitment: Hex
}

/** Binds keys of `OWNER` to a list of four: `NODES` and `IDLE`. */
export const createListedKeys = (chain: TestChain, keys: ReturnType<typeof createKeyActions>) => {
  const list = [...NODES, IDLE].map((index) => Address.parse(chain.addressOf(index)))
  const activator = Address.parse(chain.addressOf(ACTIVATOR))
  const newTerms = async (): Promise<ListTerms> => {
    return { jobId, activator, until: (await chain.now()) + DAY_S, list }
  }
  return {
    newTerms,
    /** A new key whose list gives the positions in `mask` access. */
    commit: async (
      mask: number,
    ): Promise<ListedKey & { readonly committed: TestKey['receipt'] }> => {
      const [terms, key] = [await newTerms(), await keys.storeAs(OWNER)]
      const until = BigInt(terms.until)
      const args = [key.high, key.low, jobId, list, mask, activator, until]
      const committed = await keys.as(OWNER, 'commitList', args)
      return { ...key, terms, list, until, commitment: listCommitment(terms), committed }
    },
  }
}
