import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { SignedList } from '../../lib/schemas/list.ts'
import type { Receipt, ReceiptRecord } from '../../lib/schemas/receipt.ts'

/** A receipt before the ICL signs it, and what its tally says: each part may be a lie. */
export type Draft = {
  readonly record: ReceiptRecord
  readonly group: number
  readonly deliverer: Address
  /** Unix seconds. */
  readonly settledAt: number
}

/** What a hostile ICL has for its lies besides the truth. */
export type Means = {
  /** A wallet without a stake. */
  readonly ownNode: Address
  /** The receipt and the list of an earlier job of the same client. */
  readonly earlier: { readonly receipt: Receipt; readonly list: SignedList['body'] } | undefined
}

type ReceiptLie = (draft: Draft, means: Means) => Draft
type ListLie = (body: SignedList['body'], means: Means) => SignedList['body']

const record = (draft: Draft, change: Partial<ReceiptRecord>): Draft => ({
  ...draft,
  record: { ...draft.record, ...change },
})

const listed = (draft: Draft, change: Partial<ReceiptRecord['list']>): Draft =>
  record(draft, { list: { ...draft.record.list, ...change } })

const underTerms = (draft: Draft, terms: Partial<ReceiptRecord['list']['terms']>): Draft =>
  listed(draft, { terms: { ...draft.record.list.terms, ...terms } })

const swapped = <T>([first, second, ...rest]: readonly T[]): T[] => [
  ...(second === undefined ? [] : [second]),
  ...(first === undefined ? [] : [first]),
  ...rest,
]

const outside = ({ group }: Draft, index: number): boolean => ((group >> index) & 1) === 0

/** The draft without the answer at a place, as if its node had never given one. */
function without(draft: Draft, place: number): Draft {
  const low = draft.group & ((1 << place) - 1)
  const high = (draft.group >> (place + 1)) << place
  const answers = draft.record.answers.filter((_, index) => index !== place)
  return { ...record(draft, { answers }), group: low | high }
}

const dissentOf = (draft: Draft): number =>
  draft.record.answers.findIndex((_, index) => outside(draft, index))

/** The draft with the dissent called lapsed. */
function lapsedInstead(draft: Draft): Draft {
  const place = dissentOf(draft)
  const body = draft.record.answers[place]?.body
  if (!body) throw new TypeError('There is no dissent')
  const { position, fence } = body
  const lapsed = { position, fence, reason: 'lease-lapsed' as const, at: 1_800_000_000 }
  return record(without(draft, place), { over: [...draft.record.over, lapsed] })
}

/** Lies about the list, which the ICL signs with its own key all the same, and the code with which the client refuses each. */
export const listLies: Readonly<
  Record<string, readonly [code: string, why: RegExp, lie: ListLie]>
> = {
  'the list in another order': [
    'quorum-untrusted',
    /another list than chain and pool give/,
    (body) => ({ ...body, list: swapped(body.list) }),
  ],
  'a node of its own on the list': [
    'quorum-untrusted',
    /another list than chain and pool give/,
    (body, { ownNode }) => ({ ...body, list: [ownNode, ...body.list.slice(1)] }),
  ],
  'a shorter list': [
    'quorum-untrusted',
    /another list than chain and pool give/,
    (body) => ({ ...body, list: body.list.slice(0, -1) }),
  ],
  'a list of an earlier key, as it was signed': [
    'block-differs',
    /disagree about the block/,
    (body, { earlier }) => earlier?.list ?? body,
  ],
  'another block': [
    'block-differs',
    /disagree about the block/,
    (body) => ({ ...body, block: { ...body.block, hash: `0x${'11'.repeat(32)}` as Hash32 } }),
  ],
  'other terms': [
    'quorum-untrusted',
    /a list for another key, client or other terms/,
    (body) => ({ ...body, terms: { ...body.terms, rule: 'any-two' } }),
  ],
}

/** Lies about what was agreed on, signed by the ICL as well, and the code with which the client refuses each. */
export const receiptLies: Readonly<
  Record<string, readonly [code: string | RegExp, why: RegExp, lie: ReceiptLie]>
> = {
  'the dissent left out': [
    'receipt-invalid',
    /it does not say what became of/,
    (draft) => without(draft, dissentOf(draft)),
  ],
  'an answer of the agreement left out': [
    'receipt-invalid',
    /it does not say what became of/,
    (draft) =>
      without(
        draft,
        draft.record.answers.findIndex((_, at) => !outside(draft, at)),
      ),
  ],
  'a node that answered called lapsed': [
    'receipt-invalid',
    /it lacks the answer that .* committed to/,
    lapsedInstead,
  ],
  // The job's last node is put into its place.
  'a committed node called lapsed': [
    'receipt-invalid',
    /saw other commitments before it revealed/,
    (draft) => {
      const lapsed = lapsedInstead(draft)
      const answers = lapsed.record.answers.map((signed) => ({ ...signed, batch: 0 }))
      const fences = answers.map(({ body }) => body.fence)
      const seen = [draft.record.seen.flat().filter(({ fence }) => fences.includes(fence))]
      return record(lapsed, { answers, seen })
    },
  ],
  'an answer twice': [
    'receipt-invalid',
    /answered twice/,
    (draft) => {
      const { answers } = draft.record
      const last = answers.at(-1)
      return record(draft, { answers: last ? [...answers, last] : [...answers] })
    },
  ],
  'another rule': [
    'receipt-invalid',
    /it has other terms/,
    (draft) => underTerms(draft, { rule: 'majority', max_answers: 7 }),
  ],
  'other terms that give the same quota': [
    'receipt-invalid',
    /it has other terms/,
    (draft) => underTerms(draft, { min_tier: 1 }),
  ],
  'another group': [
    'receipt-invalid',
    /the tally has another group/,
    (draft) => ({ ...draft, group: draft.group >> 1 }),
  ],
  'another deliverer': [
    'receipt-invalid',
    /it was the turn of another node to deliver/,
    (draft) => {
      const other = draft.record.answers.find(
        ({ body }, index) => !outside(draft, index) && body.address !== draft.deliverer,
      )
      return { ...draft, deliverer: other?.body.address ?? draft.deliverer }
    },
  ],
  'a delivery of another output': [
    'receipt-invalid',
    /did not sign its statement/,
    (draft) => {
      const { delivery } = draft.record
      const body = { ...delivery.body, output_cid: `bafkrei${'b'.repeat(51)}a` }
      return record(draft, { delivery: { ...delivery, body } })
    },
  ],
  'the verdicts left out': [
    'receipt-invalid',
    /the verdicts do not accept the delivery/,
    (draft) => record(draft, { verdicts: [] }),
  ],
  'a verdict of its own': [
    'receipt-invalid',
    /did not sign its statement|refutes its verdict/,
    (draft) => {
      const verdicts = draft.record.verdicts.map((signed) => ({
        ...signed,
        body: { ...signed.body, verdict: 'match' as const, reason: undefined },
        signature: 'A'.repeat(86),
      }))
      return record(draft, { verdicts })
    },
  ],
  'another end of the commitment': [
    'receipt-invalid',
    /answered for another list/,
    (draft) => listed(draft, { until: draft.record.list.until + 1 }),
  ],
  'the list in another order': [
    'receipt-invalid',
    /is not at its place on the list/,
    (draft) => listed(draft, { members: swapped(draft.record.list.members) }),
  ],
  'an answer of its own node': [
    'receipt-invalid',
    /is not at its place on the list/,
    (draft, { ownNode }) => {
      const answers = draft.record.answers.map((signed, index) =>
        index === 0 ? { ...signed, body: { ...signed.body, address: ownNode } } : signed,
      )
      return record(draft, { answers })
    },
  ],
  'an earlier end': [
    'receipt-invalid',
    /it claims to have settled at another time/,
    (draft) => ({ ...draft, settledAt: draft.settledAt - 3_600 }),
  ],
  'another prompt': [
    'receipt-invalid',
    /the jobId is not that of its parts/,
    (draft) => record(draft, { prompt_cid: `bafkrei${'c'.repeat(51)}a` }),
  ],
  'the receipt of an earlier job': [
    'receipt-invalid',
    /it is about another job/,
    (_, { earlier }) => {
      if (!earlier) throw new TypeError('There was no earlier job')
      const { tally, ...rest } = earlier.receipt
      const { group, deliverer, settled_at: settledAt } = tally.body
      return { record: rest, group, deliverer, settledAt }
    },
  ],
}
