import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { addressAt } from '../../lib/make-receipt.ts'
import { type FalseReceipt, otherId, recorded, said } from './false-receipt.ts'

type Seen = Receipt['seen']

const [n1, n2, n3, n4, n5] = [0, 1, 2, 3, 4].map(addressAt)
const missed = { position: 3, fence: 9, reason: 'never-revealed', at: 1_800_000_000 } as const

/** The commitments of one batch, changed before its nodes saw them. */
const seen = (why: string, change: (first: Seen[number]) => Seen[number]) =>
  said('good', why, { seen: ([first]) => [change(first!)] })

/** The commitments of one batch, changed after its nodes signed. */
const told = (why: string, change: (first: Seen[number]) => Seen[number]) =>
  recorded('good', why, ({ seen: [first] }) => ({ seen: [change(first!)] }))

const withSecond = (change: Partial<Seen[number][number]>) => (batch: Seen[number]) =>
  batch.map((one) => (one.address === n2 ? { ...one, ...change } : one))

const alone = 'a node revealed, or was to reveal, without a commitment'

/** What is wrong with what nodes saw before they revealed. */
export const falseCommitments: readonly FalseReceipt[] = [
  // Evidence that was shown to a node of the same batch, which committed to a copy after that.
  told(`${n1} saw other commitments before it revealed`, withSecond({ commitment: otherId })),
  seen(`${n2} revealed another answer than it committed to`, withSecond({ commitment: otherId })),
  said('good', `${n3} saw other commitments before it revealed`, {
    answers: { 2: { seen: otherId } },
  }),
  seen(`the commitment of ${n2} is of another node`, withSecond({ address: n4! })),
  seen(`it lacks the answer that ${n3} committed to`, ([one, two, three]) => [
    ...[one!, two!, { ...three!, fence: 9 }],
  ]),
  seen('its commitments are not in the order of their seats', (batch) => batch.toReversed()),
  seen('its commitments are not in the order of their seats', (batch) => [
    ...batch,
    ...batch.slice(2),
  ]),
  seen(alone, (batch) => batch.slice(0, 2)),
  said('good', alone, { record: () => ({ over: [missed] }) }),
  said('good', `it lacks the answer that ${n5} committed to`, {
    seen: ([batch]) => [[...batch!, { address: n5!, fence: 9, commitment: otherId }]],
    record: () => ({ over: [missed] }),
  }),
  recorded('split', `${n4} committed in another batch`, ({ answers }) => ({
    answers: answers.map((answer, at) => (at === 3 ? { ...answer, batch: 0 } : answer)),
  })),
]
