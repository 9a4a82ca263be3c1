import { elapsedSince } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { drawList } from '../../lib/list.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { DrawnList, ListRequest, ListStatement } from '../../lib/schemas/list.ts'
import { publicOrigin } from '../../lib/schemas/network.ts'
import { minListLength, type Terms } from '../../lib/schemas/terms.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { termsHash } from '../../lib/terms.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadEligible, memberStates, passedMembers, readingGrants } from '../pool/load-pool.ts'
import { tooFewProblem, withdrawnProblem } from '../pool/withdrawn.ts'
import { signList } from '../records/own-lists.ts'
import { quotaOfTerms } from '../rules/agreed.ts'
import type { Demand } from '../rules/eligibility.ts'
import { checkAdmitted } from './admit-client.ts'
import { type DrawQueue, drawNameOf, mostDrawsWaiting } from './draw-queue.ts'
import { ageOf, findOwnKey, isDrawn, noteDrawn } from './own-key.ts'
import { loadPublished, periodsOf } from './publish-pool.ts'

/** How old a stored key may be, by the time of its block. */
const keySeconds = 1_800
/** How long before that block the pool may have stopped being the current one. */
const poolSeconds = 300
/** How far the chain's clock may be behind: a block bears the time at which it was begun. */
const chainLagSeconds = 60

/**
 * Returns the signed list of a stored key, drawn from the pool of its terms, once the draw has its turn. Only the members that are passed
 * over depend on the time of the request. Throws `draw-queued` when the turn does not come while the request is held. Throws `chain-*` when
 * the chain cannot be read; the draw then keeps its place.
 */
export const drawListOf = (
  deps: Dependencies,
  queue: DrawQueue,
  client: Address,
  request: ListRequest,
  signal?: AbortSignal,
): Promise<DrawnList> =>
  drawInTurn(deps, queue, client, request, signal).catch((error: unknown) => {
    const isOfChain = error instanceof SvcError && error.code.startsWith('chain-')
    if (isOfChain) queue.keep(drawNameOf(request), client)
    throw error
  })

async function drawInTurn(
  deps: Dependencies,
  queue: DrawQueue,
  client: Address,
  request: ListRequest,
  signal: AbortSignal | undefined,
): Promise<DrawnList> {
  const { clock } = deps
  const begun = clock.monotonic()
  const { kpHighHandle, kpLowHandle, terms } = request
  checkAdmitted(deps, client)
  checkTerms(deps, terms)
  const name = drawNameOf(request)
  const wasDrawn = await isDrawn(deps, request)
  // The pool of a draw that waits, or has waited, was checked when it came.
  const isKnown = wasDrawn || queue.has(name)
  const periods = await periodsOf(deps, terms.pool_cid)
  if (periods.length === 0 && !isKnown) {
    throw refused(
      `This ICL has not published the pool ${terms.pool_cid} within an hour. Take a newer pool and store another key`,
    )
  }
  // The time that a draw waits for its turn does not age its key.
  const maxSeconds = () => keySeconds + Math.ceil(queue.waitedMs(name) / 1000)
  const most = wasDrawn ? Number.POSITIVE_INFINITY : maxSeconds()
  const key = await findOwnKey(deps, client, request, most)
  if ((await termsHash(terms)) !== key.termsHash) {
    throw refused('The key was stored under other terms. Send those terms, or store another key')
  }
  if (!isKnown) checkPool(periods, terms.pool_cid, key.storedAt)
  const seed = {
    chainId: deps.network.chain_id,
    store: deps.network.contracts.prompt_key_store,
    client,
    kpHighHandle,
    kpLowHandle,
    termsHash: key.termsHash,
    blockHash: key.block.hash,
  }
  const pool = await loadPublished(deps, terms.pool_cid)
  const members = drawList(seed, terms, pool.nodes)
  if (members.length < Math.max(terms.quorum, minListLength)) {
    throw await tooFew(
      deps,
      terms.quorum,
      `The pool of the terms has ${members.length} nodes that can serve ${terms.model_id}, and ${terms.quorum} are needed. Take a newer pool and store another key`,
    )
  }
  checkQuota(terms, members.length)
  const { model_id: modelId, min_tier: minTier, comparator, needs, quorum } = terms
  const demand = { modelId, minTier, comparator, needs }
  const leftMs = () => (request.wait ?? 0) * 1000 - elapsedSince(clock, begun)
  await awaitTurn(deps, queue, { name, client, quorum }, members, demand, leftMs, signal)
  const age = ageOf(clock, key)
  // Not noted for a draw that only comes back: no key can be used for ever.
  if (age > keySeconds && age <= maxSeconds()) await noteDrawn(deps, request)
  const [passed, reading] = await Promise.all([
    passedMembers(deps, members, demand, quorum),
    readingGrants(deps, members),
  ])
  const at = toSeconds(clock.now())
  const body: ListStatement = {
    statement: 'svc-list-v2',
    client,
    kpHighHandle,
    kpLowHandle,
    terms,
    block: key.block,
    list: [...members],
    passed: passed.map((node) => ({ ...node, at })),
    coordinator: deps.chain.coordinator,
    at,
  }
  return { ...(await signList(deps.keys, body)), reading: [...reading] }
}

/**
 * Waits for the draw's turn. Does not wait for members that have left or no longer serve the model: a draw with fewer serving members than
 * a quorum is refused at once. Otherwise its job would occupy the few that are left, and wait for the rest.
 */
async function awaitTurn(
  deps: Dependencies,
  queue: DrawQueue,
  draw: { readonly name: string; readonly client: Address; readonly quorum: number },
  members: readonly Address[],
  demand: Demand,
  leftMs: () => number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const states = await memberStates(deps, members, demand)
  const nodes = members.filter((_, index) => states[index] === 'fit' || states[index] === 'busy')
  if (nodes.length < draw.quorum) {
    const isListed = (node: Address) => members.includes(node)
    // Where a newer pool has a quorum, another key is drawn at once.
    const isElsewhere = (await loadEligible(deps, demand)).length >= draw.quorum
    const lacking = draw.quorum - nodes.length
    const withdrawn = isElsewhere
      ? undefined
      : await withdrawnProblem(deps, demand, lacking, isListed)
    throw (
      withdrawn ??
      (await tooFew(
        deps,
        draw.quorum,
        `${nodes.length} nodes of the list serve the model now, and ${draw.quorum} are needed. Ask again later, or take a newer pool and store another key`,
      ))
    )
  }
  if (!queue.has(draw.name) && queue.waitingOf(draw.client) >= mostDrawsWaiting) {
    throw new ProblemError(
      'too-many-jobs',
      `At most ${mostDrawsWaiting} draws of a client wait for their turn. Ask again once one has had it`,
      { retryAfterSeconds: 30 },
    )
  }
  const queued = await queue.waitFor({ ...draw, nodes }, leftMs(), signal)
  if (!queued) return
  const { place, waiting, retryAfterSeconds } = queued
  throw new ProblemError(
    'draw-queued',
    `The draw has place ${place} of ${waiting} in the queue. Ask again with the same key: the place is kept for 90 s`,
    { retryAfterSeconds, queue: { place, waiting } },
  )
}

const refused = (why: string) => new ProblemError('terms-refused', why)

const tooFew = async (deps: Dependencies, quorum: number, why: string) =>
  tooFewProblem((await loadEligible(deps, { minTier: 0 })).length, quorum, why)

/** Checks of the terms that need no chain. */
function checkTerms(deps: Dependencies, terms: Terms): void {
  const origin = publicOrigin(deps.network)
  if (terms.icl_origin !== origin) {
    throw refused(`The terms are for ${terms.icl_origin}, not ${origin}. Store a key for this ICL`)
  }
  checkQuota(terms, terms.list_length)
}

/** Refuses terms under which no answer could be accepted: the client would pay in vain. */
function checkQuota(terms: Terms, listLength: number): void {
  const result = quotaOfTerms(terms, listLength)
  if (result.outcome === 'refused') {
    throw refused(`No job can have these terms: ${result.why}. Store a key under others`)
  }
}

type Periods = Awaited<ReturnType<typeof periodsOf>>

/** Checks that the pool was public before its block was known, and was not kept back for a suitable block. */
function checkPool(periods: Periods, cid: string, storedAt: number): void {
  const isCurrent = periods.some(
    ({ from, until }) =>
      from <= (storedAt + chainLagSeconds) * 1000 && storedAt * 1000 <= until + poolSeconds * 1000,
  )
  if (isCurrent) return
  throw refused(
    `The pool ${cid} was not the current one within ${poolSeconds} s before the key was stored. Take a newer pool and store another key`,
  )
}
