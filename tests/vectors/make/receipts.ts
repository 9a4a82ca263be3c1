import { z } from 'zod'
import { receiptHash, recordHash, verifyReceipt } from '../../../lib/receipt.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import type { NumbersStatement } from '../../../lib/schemas/statements.ts'
import { attested } from '../../lib/attested.ts'
import { makeReceipt, type ReceiptChanges } from '../../lib/make-receipt.ts'
import { restated } from '../../lib/restate.ts'
import { differencesOf } from './differences.ts'
import { falseAnswers } from './false-answers.ts'
import { falseChecks } from './false-checks.ts'
import { falseCommitments } from './false-commitments.ts'
import { falseDeliveries } from './false-deliveries.ts'
import { type FalseReceipt, mistakeMade, positionOf, type Samples } from './false-receipt.ts'
import { falseRecords } from './false-records.ts'

const said =
  'The sky is blue because air scatters the short waves of sunlight, which are blue, far more than the long ones, so that blue reaches the eye from every side while red goes straight on. At dusk the light has a longer way through the air, most of the blue is lost on it, and what is left looks orange or red.'
const at = 1_800_000_000
const lapsed = { fence: 3, reason: 'lease-lapsed' as const, at }
const missed = { fence: 2, reason: 'offer-lapsed' as const, at }
const passed = [{ position: 2, reason: 'busy' as const, at }]

type Made = readonly [name: string, answers: readonly string[], changes: ReceiptChanges]

const samples: { readonly [name in Exclude<keyof Samples, 'attested'>]: Made } = {
  good: ['three equal answers', ['yes', 'yes', 'yes'], {}],
  split: ['dissent, and a second batch', ['yes', 'no', 'maybe', 'yes', 'yes'], {}],
  third: [
    'two turns to deliver that failed',
    ['yes', 'yes', 'yes'],
    { failed: ['output-refused', 'node-failed'] },
  ],
  any: ['any two of three', ['yes', 'yes', 'no'], { rule: 'any-two' }],
}

const others: readonly Made[] = [
  ['three batches', ['a', 'b', 'c', 'a', 'd', 'e', 'a'], {}],
  ['any two, with a second batch', ['a', 'b', 'c', 'c'], { rule: 'any-two' }],
  ['majority', ['a', 'b', 'a', 'a'], { rule: 'majority' }],
  ['a list of three', ['a', 'a', 'b'], { listLength: 3 }],
  [
    'more matches than the rule asks for',
    ['a', 'a', 'a', 'a'],
    { terms: { quorum: 4, min_matches: 3 } },
  ],
  ['a node that was passed over', ['a', 'a', 'a'], { positions: [0, 1, 3], list: { passed } }],
  [
    'a lease that lapsed',
    ['a', 'a', 'a'],
    { positions: [0, 1, 3], fences: [1, 2, 4], over: [{ position: 2, ...lapsed }] },
  ],
  [
    'a node that did not reveal, and two that took its seat',
    ['a', 'a', 'a'],
    {
      ...{ positions: [0, 2, 4], fences: [1, 3, 5], silent: [1, 1] },
      over: [
        { position: 1, fence: 2, reason: 'never-revealed', at },
        { position: 3, fence: 4, reason: 'never-revealed', at },
      ],
    },
  ],
  [
    'a node that answered at its second attempt',
    ['a', 'a', 'a'],
    { fences: [1, 4, 3], over: [{ position: 1, ...missed }] },
  ],
  ['a delivery that nobody checked', ['a', 'a', 'a'], { failed: ['never-checked'] }],
  ['a member that let its turn pass', ['a', 'a', 'a'], { failed: ['never-delivered'] }],
]

const withNumbers = 'how likely each answer is under two models'

/** Receipts that hold, each with evidence of one comparator. */
export async function trueReceipts(): Promise<object> {
  const made: (readonly [name: string, receipt: Receipt])[] = []
  for (const [name, answers, changes] of [...Object.values(samples), ...others]) {
    made.push([name, (await makeReceipt('exact', answers, changes)).receipt])
  }
  const { receipt: three } = await makeReceipt(...argumentsOf(samples.good))
  made.push([withNumbers, await attested(three)])
  const { receipt: five } = await makeReceipt(...argumentsOf(samples.split))
  made.push(['five answers, of which each shows another text', await attested(five, unread)])
  const worded = [said, said, said.replace('far more than', 'much more than')]
  made.push(['answers in similar words', (await makeReceipt('similar/2', worded)).receipt])
  const { receipt: good } = await makeReceipt(...argumentsOf(samples.good))
  const [checker] = good.verdicts.map(({ body }) => positionOf(good, body.address))
  const mismatch = { verdict: 'no-match', reason: 'output-mismatch' } as const
  const tied = await restated(good, { verdicts: { [checker ?? -1]: mismatch } })
  made.push(['a match and a mismatch', tied])
  made.push(['one verdict', await mistakeMade(good, { verdicts: good.verdicts.slice(0, 1) })])
  return {
    about:
      'Each `receipt` holds without a network, its tally signed by one of `iclKeys`. `hash` is SHA-256 of its canonical JSON, `record` that of all but `tally`.',
    receipts: await Promise.all(
      made.map(async ([name, receipt]) => {
        const iclKeys = [receipt.tally.key]
        await verifyReceipt(receipt, { iclKeys })
        return {
          ...{ name, iclKeys },
          hash: await receiptHash(receipt),
          record: await recordHash(receipt),
          receipt: z.encode(Receipt, receipt),
        }
      }),
    ),
  }
}

const unread = (numbers: NumbersStatement): NumbersStatement => ({
  ...numbers,
  weighed: numbers.weighed.map(({ answer }) => ({ answer })),
})

const argumentsOf = ([, answers, changes]: Made) => ['exact', answers, changes] as const

/** Receipts that do not hold, each for one reason, with sound signatures but where it is about these. */
export async function falseReceipts(): Promise<object> {
  const [good, split, third, any] = await Promise.all(
    (['good', 'split', 'third', 'any'] as const).map(
      async (name) => (await makeReceipt(...argumentsOf(samples[name]))).receipt,
    ),
  )
  if (!good || !split || !third || !any) throw new Error('a sample is missing')
  const known: Samples = { good, split, third, any, attested: await attested(good) }
  const all = [
    ...falseRecords,
    ...falseAnswers,
    ...falseCommitments,
    ...falseDeliveries,
    ...falseChecks,
  ]
  return {
    about:
      'Each is the receipt named `of` in receipts-valid.json after `changes`, in order: [path, value] sets what the JSON pointer (RFC 6901) names, [path] removes it. `why` is what this service says, and no part of the protocol. The keys of the ICL are those of the valid receipt, or `iclKeys`. The `malformed` ones are refused for their form, before any signature is looked at.',
    receipts: await Promise.all(all.map((one) => falseVector(one, known))),
    malformed: [
      ...notOrigins.map((origin) =>
        ['/icl_origin', '/list/terms/icl_origin'].map((pointer) => [pointer, origin]),
      ),
      ...notCids.map((cid) => [['/prompt_cid', cid]]),
    ].map((changes) => ({ of: samples.good[0], changes })),
  }
}

/** The CID of the sample with bits that no byte uses, and one with a digest of another length. */
const notCids = [`bafkrei${'a'.repeat(51)}b`, `bafkreii${'a'.repeat(51)}`]

const notOrigins = ['https://icl.te\u0301st', 'https://icl.test ', '', `https://${'a'.repeat(505)}`]

async function falseVector({ of, why, make, iclKeys }: FalseReceipt, known: Samples) {
  const receipt = known[of]
  const changed = await make(receipt)
  const objection = await verifyReceipt(changed, { iclKeys: iclKeys ?? [receipt.tally.key] }).then(
    () => 'it holds',
    (error: Error) => error.message.replace('The receipt does not hold: ', ''),
  )
  const expected = typeof why === 'string' ? why : why(receipt)
  if (objection !== expected) throw new Error(`said is "${objection}" instead of "${expected}"`)
  const changes = differencesOf(z.encode(Receipt, receipt), z.encode(Receipt, changed))
  return {
    of: of === 'attested' ? withNumbers : samples[of][0],
    why: expected,
    ...(iclKeys && { iclKeys }),
    changes,
  }
}
