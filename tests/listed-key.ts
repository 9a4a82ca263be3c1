import { defaultMaxAnswers } from '../lib/agreement-rule.ts'
import type { Api } from '../lib/api.ts'
import type { Address, ComparatorId, Hash32 } from '../lib/codecs.ts'
import { toBase64Url } from '../lib/digest.ts'
import { firstPositions } from '../lib/list.ts'
import type { SignedList } from '../lib/schemas/list.ts'
import type { PromptNeeds } from '../lib/schemas/prompt-needs.ts'
import type { ReadingGrant } from '../lib/schemas/reading.ts'
import type { AgreementRule, Terms } from '../lib/schemas/terms.ts'
import { systemRandom } from '../lib/system.ts'
import { termsHash } from '../lib/terms.ts'

/** A prompt key that was stored under terms, and its list as the ICL signed it. */
export type ListedKey = {
  readonly terms: Terms
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly list: SignedList
  readonly reading: readonly ReadingGrant[]
  /** Who is seated first, by position, the leader first. */
  readonly positions: readonly number[]
  readonly first: readonly Address[]
}

/** What of the terms a test may choose. */
export type TermsChoice = {
  readonly verifiers?: number
  readonly comparator?: ComparatorId
  readonly rule?: AgreementRule
  readonly maxAnswers?: number
  readonly minMatches?: number
  readonly listLength?: number
  readonly needs?: PromptNeeds
  readonly offer?: NonNullable<Terms['offer']>
}

/** Does what a client does before it submits, but for drawing the list itself: previews, stores a key under terms, and asks for its list. */
export async function listKey(
  api: Pick<Api, 'previewQuorum' | 'drawList'>,
  options: TermsChoice & {
    readonly origin: string
    readonly modelId: string
    readonly storeKey: (terms: Hash32) => Promise<{
      readonly highHandle: bigint
      readonly lowHandle: bigint
      readonly blockNumber: bigint
    }>
    readonly calls?: { readonly attempts?: number; readonly timeoutMs?: number }
  },
): Promise<ListedKey> {
  const { verifiers = 2, comparator, rule = 'three', calls } = options
  const preview = await api.previewQuorum(
    {
      query: {
        model_id: options.modelId,
        min_tier: 0,
        verifier_count: verifiers,
        ...(comparator && { comparator }),
      },
    },
    calls,
  )
  const terms: Terms = {
    icl_origin: options.origin,
    pool_cid: preview.pool_cid,
    model_id: preview.model_id,
    min_tier: 0,
    comparator: preview.comparator,
    ...(options.needs && { needs: options.needs }),
    ...(options.offer && { offer: options.offer }),
    rule,
    quorum: verifiers + 1,
    max_answers: options.maxAnswers ?? defaultMaxAnswers[rule],
    min_matches: options.minMatches ?? 1,
    list_length: options.listLength ?? 9,
    salt: toBase64Url(systemRandom.bytes(32)),
  }
  const stored = await options.storeKey(await termsHash(terms))
  const { highHandle, lowHandle } = stored
  const { reading, ...list } = await api.drawList(
    {
      body: {
        kpHighHandle: highHandle,
        kpLowHandle: lowHandle,
        block_number: stored.blockNumber,
        terms,
        ...(calls && { wait: 4 }),
      },
    },
    // As the client library does: it waits for the draw's turn.
    calls && { ...calls, onLoad: () => {} },
  )
  const { list: members, passed } = list.body
  const positions = firstPositions(members.length, passed, terms.quorum)
  const first = positions.flatMap((position) => members[position] ?? [])
  return { terms, highHandle, lowHandle, list, reading, positions, first }
}
