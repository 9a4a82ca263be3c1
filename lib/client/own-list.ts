/*
 * Problem: the ICL says which nodes will read the prompt, and could choose them.
 *
 * Idea: the client draws the list itself, from the pool that its terms named before the key's block was made. The ICL's signed list must be
 * the same. The client trusts the ICL only on which nodes cannot work now.
 *
 * Failure cases: a reorganisation moves the key to another block, or the RPCs of client and ICL show different blocks for a moment. Then the
 * client asks again. A busy ICL holds the draw until its turn. The ICL may pass over at most four nodes for other reasons than that they are
 * busy. A node may leave between the two looks at it, so the client refuses only an ICL that continues seating it.
 */

import { unixSeconds } from '../clock.ts'
import type { Address } from '../codecs.ts'
import { drawList, firstPositions } from '../list.ts'
import { ProblemError } from '../problem.ts'
import type { BlockId, DrawnList, SignedList } from '../schemas/list.ts'
import type { ReadingGrant } from '../schemas/reading.ts'
import { findUnsigned } from '../sealing/envelope.ts'
import { canWrapFor } from '../sealing/reading-key.ts'
import { verifySignature } from '../session-key.ts'
import { statementBytes } from '../statements.ts'
import { SvcError } from '../svc-error.ts'
import { termsHash } from '../terms.ts'
import type { ChosenTerms } from './choose-terms.ts'
import type { StoredPromptKey } from './client-chain.ts'
import { type ClientContext, patient } from './context.ts'
import { publishedKeys } from './published-keys.ts'
import type { QueuePlace } from './turns.ts'

/** The terms and the pool that a list is drawn from. */
type DrawnFrom = Pick<ChosenTerms, 'terms' | 'pool'>

const maxPassed = 4
const tries = 4
const pauseMs = 1_000
// By then the chain RPC of the ICL has the block that this client's has.
const leavingMs = 5_000
const graceSeconds = 600
// How long the ICL holds a request for the draw's turn.
const turnSeconds = 20

/** The list of a stored key, as this client has drawn it too. */
export type JobList = {
  readonly signed: SignedList
  /** Each member's reading key, signed by its wallet, in the order of the list. */
  readonly grants: readonly ReadingGrant[]
  /** The positions of the members that are seated first: the quorum. */
  readonly positions: readonly number[]
  /** The end of the commitment, Unix seconds by the chain's clock: until then the ICL may activate further members. */
  readonly until: number
}

/** Told while a list is waited for: the draw's place in the queue, and failures of the ICL. */
type ListNews = {
  readonly onPlace?: (place: QueuePlace) => void
  readonly onRetry?: (error: Error) => void
}

/** Returns the list of a stored key, as ICL and client draw it; throws SvcError `quorum-untrusted`, `block-differs` or `not-enough-nodes`. */
export async function askForList(
  context: ClientContext,
  chosen: DrawnFrom,
  stored: StoredPromptKey,
  signal?: AbortSignal,
  news: ListNews = {},
): Promise<JobList> {
  const { chain, clock } = context
  const { quorum } = chosen.terms
  let { block } = stored
  for (let attempt = 1; ; attempt++) {
    let leaving: Address | undefined
    const drawn = await listFrom(context, chosen, { ...stored, block }, news, signal)
    const { list = [], passed = [] } = drawn?.body ?? {}
    const positions = firstPositions(list.length, passed, quorum)
    // All reads at once: the chain's RPC gets them as one batch.
    const reading = drawn && findInactive(context, chosen, namesAt(list, positions), signal)
    const [own, left, time] = await Promise.all([
      chain.blockOf(stored.txHash, signal),
      reading,
      chain.time(signal),
    ])
    // The block must still be that of the key when the client commits to the list.
    if (own && drawn && isSame(own, block) && isSame(own, drawn.body.block)) {
      const { reading: grants, ...signed } = drawn
      await checkList(context, chosen, { ...stored, block }, signed, signal)
      await checkReaders(context, list, grants)
      if (positions.length < quorum) throw tooFewFree(positions.length, quorum)
      checkPasses(signed, positions)
      leaving = left
      if (leaving === undefined) {
        // The chain's latest block may be old. A clock that is ahead would let the ICL activate members for longer.
        const now = Math.max(time, Math.min(unixSeconds(clock), signed.body.at))
        const until = now + context.network.limits.job_seconds + graceSeconds
        return { signed, grants, positions, until }
      }
    }
    if (attempt === tries) throw leaving === undefined ? blockDiffers() : inactive(leaving)
    block = own ?? block
    await clock.sleep(leaving === undefined ? pauseMs : leavingMs, signal)
  }
}

const isSame = (one: BlockId, other: BlockId): boolean =>
  one.hash === other.hash && one.number === other.number

/** Returns the ICL's list; undefined when its RPC may not have seen the key's block yet. */
async function listFrom(
  { api }: ClientContext,
  { terms }: DrawnFrom,
  { highHandle, lowHandle, block }: StoredPromptKey,
  { onPlace, onRetry }: ListNews,
  signal: AbortSignal | undefined,
): Promise<DrawnList | undefined> {
  const key = { kpHighHandle: highHandle, kpLowHandle: lowHandle, block_number: block.number }
  try {
    return await api.drawList(
      { body: { ...key, terms, wait: turnSeconds } },
      {
        ...patient,
        signal,
        timeoutMs: turnSeconds * 1000 + 10_000,
        onLoad: ({ queue }) => queue && onPlace?.({ at: 'icl', ...queue }),
        onRetry,
      },
    )
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'key-unknown') return undefined
    throw error
  }
}

/** The list must be of this key and these terms, in this client's own order, and signed. */
async function checkList(
  context: ClientContext,
  { terms, pool }: DrawnFrom,
  { highHandle, lowHandle, block }: StoredPromptKey,
  { body, key, signature }: SignedList,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { network, address } = context
  const isKnown = (await publishedKeys(context, key, signal)).includes(key)
  if (!isKnown || !(await verifySignature(key, signature, statementBytes(body)))) {
    throw untrusted('a list that none of its published keys has signed')
  }
  const hash = await termsHash(terms)
  const isSameKey = body.kpHighHandle === highHandle && body.kpLowHandle === lowHandle
  if (!isSameKey || body.client !== address || (await termsHash(body.terms)) !== hash) {
    throw untrusted('a list for another key, client or other terms')
  }
  const own = drawList(
    {
      chainId: network.chain_id,
      store: network.contracts.prompt_key_store,
      client: address,
      kpHighHandle: highHandle,
      kpLowHandle: lowHandle,
      termsHash: hash,
      blockHash: block.hash,
    },
    terms,
    pool,
  )
  if (body.list.join() !== own.join()) throw untrusted('another list than chain and pool give')
}

/** Each member must have signed a reading key that can be used: an ICL could put in its own, or leave one out. */
async function checkReaders(
  { network }: Pick<ClientContext, 'network'>,
  list: readonly Address[],
  grants: readonly ReadingGrant[],
): Promise<void> {
  if (grants.length !== list.length) throw untrusted('a list without a reading key for each node')
  const unsigned = await findUnsigned({ list, chainId: network.chain_id }, grants)
  if (unsigned) throw untrusted(`a list with a reading key that ${unsigned} has not signed`)
  const usable = await Promise.all(grants.map(({ key }) => canWrapFor(key)))
  if (usable.includes(false)) throw untrusted('a list with a reading key that cannot be used')
}

/** Throws when nodes are passed over for other reasons than being busy: an ICL could leave out nodes that it dislikes. */
function checkPasses({ body }: SignedList, positions: readonly number[]): void {
  const last = Math.max(...positions)
  const skipped = body.passed.filter(({ position, reason }) => position < last && reason !== 'busy')
  if (skipped.length <= maxPassed) return
  const reasons = [...new Set(skipped.map(({ reason }) => reason))].join(', ')
  throw untrusted(`too few of the list: it passes over ${skipped.length} nodes (${reasons})`)
}

const namesAt = (list: readonly Address[], positions: readonly number[]): readonly Address[] =>
  positions.flatMap((position) => list[position] ?? [])

/** Returns a node that is not active: nodes that are about to get the prompt's key must have a stake. */
async function findInactive(
  { chain }: ClientContext,
  { terms }: DrawnFrom,
  nodes: readonly Address[],
  signal: AbortSignal | undefined,
): Promise<Address | undefined> {
  const read = await Promise.all(nodes.map((node) => chain.nodeOf(node, signal)))
  return nodes.find((_, at) => {
    const { active = false, modelTiers = [] } = read[at] ?? {}
    return !active || modelTiers.every((tier) => tier < terms.min_tier)
  })
}

const untrusted = (what: string): SvcError =>
  new SvcError('quorum-untrusted', `The ICL chose ${what}`, {
    hint: 'Do not use this ICL: it may hand the prompt to whom it likes.',
  })

const inactive = (node: Address): SvcError =>
  untrusted(`${node}, which is not active on chain for that tier`)

const tooFewFree = (found: number, needed: number): SvcError =>
  new SvcError(
    'not-enough-nodes',
    `Not enough nodes: ${found} of the list can work now, and the job needs ${needed}`,
    { hint: 'Wait until more nodes are active, and run it again.', retryable: true },
  )

const blockDiffers = (): SvcError =>
  new SvcError('block-differs', 'The ICL and the chain RPC disagree about the block of the key', {
    hint: 'Try again. If it stays, use another chain RPC to find out which of the two is wrong.',
    retryable: true,
  })
