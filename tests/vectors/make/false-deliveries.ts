import type { Receipt } from '../../../lib/schemas/receipt.ts'
import type { TurnAbortStatement } from '../../../lib/schemas/statements.ts'
import { addressAt, signedByNode } from '../../lib/make-receipt.ts'
import type { Restated } from '../../lib/restate.ts'
import {
  checkerOf,
  type FalseReceipt,
  otherId,
  positionOf,
  recorded,
  said,
} from './false-receipt.ts'

type Failed = Receipt['failed_deliveries']
type Verdict = NonNullable<Restated['verdicts']>[number]

const anotherTurn = 'it was the turn of another node to deliver'
const firstOf = ({ failed_deliveries: [first] }: Receipt) => first!.address
const delivererOf = (receipt: Receipt) => receipt.tally.body.deliverer

/** Other turns of the job in which two failed. */
const turns = (why: FalseReceipt['why'], change: (receipt: Receipt) => Failed | Promise<Failed>) =>
  recorded('third', why, async (receipt) => ({ failed_deliveries: await change(receipt) }))

const firstTurn = (
  why: FalseReceipt['why'],
  change: (turn: Failed[number], receipt: Receipt) => Failed[number],
) =>
  turns(why, (receipt) => {
    const [refused, silent] = receipt.failed_deliveries
    return [change(refused!, receipt), silent!]
  })

const called = (receipt: Receipt, outcome: string) =>
  `the verdicts call the delivery of ${firstOf(receipt)} ${outcome}`

const secondOf = ({ failed_deliveries: [, second] }: Receipt) => second!.address

const unsigned = ({ abort: _, ...turn }: Failed[number]) => turn

/** Another word of the member that gave back the second turn. */
const aborted = (
  why: FalseReceipt['why'],
  change: (receipt: Receipt) => Partial<TurnAbortStatement>,
) =>
  turns(why, async (receipt) => {
    const [first, second] = receipt.failed_deliveries
    const abort = await signedByNode({ ...second!.abort!.body, ...change(receipt) })
    return [first!, { ...second!, abort }]
  })

const notItsTurn = (receipt: Receipt) =>
  `${secondOf(receipt)} gave back something else than its turn`

/** What the first that checked says instead. */
const checked = (why: FalseReceipt['why'], change: (receipt: Receipt) => Verdict) =>
  said('good', why, (receipt) => ({
    verdicts: { [positionOf(receipt, checkerOf(receipt))]: change(receipt) },
  }))

const matched = { verdict: 'match' as const, reason: undefined }
const noReason = (receipt: Receipt) => `${checkerOf(receipt)} gave no reason, or one too many`
const unaccepted = 'the verdicts do not accept the delivery'
const dissentIn = ({ verdicts }: Receipt) =>
  verdicts.filter(({ body }) => body.verdict === 'no-match')

/** What is wrong with the deliveries of a receipt, and with what was said of them. */
export const falseDeliveries: readonly FalseReceipt[] = [
  turns(anotherTurn, () => []),
  turns(
    ({ failed_deliveries: [, silent] }) => `it was not the turn of ${silent!.address} to deliver`,
    ({ failed_deliveries: failed }) => failed.toReversed(),
  ),
  turns(anotherTurn, ({ failed_deliveries: failed }) => failed.slice(0, 1)),
  turns('no member is left to deliver', (receipt) => {
    const [refused, silent] = receipt.failed_deliveries
    return [refused!, silent!, { ...silent!, address: delivererOf(receipt) }]
  }),
  said('good', anotherTurn, (receipt) => ({ tally: { deliverer: checkerOf(receipt) } })),
  said('good', 'another node delivered', (receipt) => ({
    delivery: { address: checkerOf(receipt) },
  })),
  firstTurn(
    (receipt) => `${firstOf(receipt)} failed to deliver for another reason`,
    (turn) => ({ ...turn, reason: 'never-delivered' }),
  ),
  firstTurn(
    (receipt) => `${firstOf(receipt)} failed to deliver for another reason`,
    ({ delivery: _, ...turn }) => turn,
  ),
  firstTurn(
    (receipt) => `${firstOf(receipt)} had delivered nothing`,
    ({ delivery: _, ...turn }) => ({ ...turn, reason: 'never-delivered' }),
  ),
  turns(
    (receipt) => `${secondOf(receipt)} failed to deliver for another reason`,
    ({ failed_deliveries: [first, second] }) => [first!, unsigned(second!)],
  ),
  turns(
    (receipt) => `${secondOf(receipt)} failed to deliver for another reason`,
    ({ failed_deliveries: [first, second] }) => [first!, { ...second!, reason: 'never-delivered' }],
  ),
  aborted(notItsTurn, () => ({ turn: 0 })),
  aborted(notItsTurn, () => ({ fence: 9 })),
  aborted(notItsTurn, () => ({ reason: 'wallet-empty' })),
  aborted(notItsTurn, (receipt) => ({ address: firstOf(receipt) })),
  turns(
    (receipt) => `${secondOf(receipt)} did not sign its statement`,
    ({ failed_deliveries: [first, second], delivery: { signature } }) => [
      first!,
      { ...second!, abort: { ...second!.abort!, signature } },
    ],
  ),
  firstTurn(
    (receipt) => `the delivery of ${firstOf(receipt)} is of another node`,
    (turn, { delivery }) => ({ ...turn, delivery }),
  ),
  said('third', (receipt) => called(receipt, 'settled'), {
    verdicts: { 0: matched, 1: matched, 2: matched },
  }),
  firstTurn(
    (receipt) => called(receipt, 'output-refused'),
    (turn) => ({ ...turn, reason: 'never-checked' }),
  ),
  firstTurn(
    (receipt) => called(receipt, 'never-checked'),
    (turn) => ({ ...turn, verdicts: [] }),
  ),

  said('good', (receipt) => `${delivererOf(receipt)} delivered for another assignment`, {
    delivery: { fence: 9 },
  }),
  said('good', (receipt) => `${delivererOf(receipt)} delivered another answer`, {
    delivery: { answer: otherId },
  }),
  recorded(
    'good',
    (receipt) => `${delivererOf(receipt)} did not sign its statement`,
    ({ delivery, answers: [first] }) => ({
      delivery: { ...delivery, signature: first!.signature },
    }),
  ),

  checked(`${addressAt(5)} gave a verdict without an answer`, () => ({ address: addressAt(5) })),
  checked(
    (receipt) => `${delivererOf(receipt)} gave a verdict on its own delivery`,
    (receipt) => ({ address: delivererOf(receipt) }),
  ),
  checked(
    (receipt) => `the verdict of ${checkerOf(receipt)} is for another assignment`,
    () => ({ fence: 9 }),
  ),
  checked(
    (receipt) => `${checkerOf(receipt)} compared another answer of its own`,
    () => ({ answer: otherId }),
  ),
  checked(
    (receipt) => `${checkerOf(receipt)} looked at another delivery`,
    () => ({ delivery: otherId }),
  ),
  checked(noReason, () => ({ verdict: 'no-match' })),
  checked(noReason, () => ({ reason: 'output-mismatch' })),
  checked(
    (receipt) => `the evidence of ${checkerOf(receipt)} refutes its verdict`,
    () => ({ verdict: 'no-match', reason: 'different-answer' }),
  ),
  recorded(
    'good',
    ({ verdicts: [verdict] }) => `${verdict!.body.address} gave two verdicts`,
    ({ verdicts: [verdict] }) => ({ verdicts: [verdict!, verdict!] }),
  ),
  recorded(
    'good',
    ({ verdicts: [verdict] }) => `${verdict!.body.address} did not sign its statement`,
    ({ verdicts: [verdict], answers: [first] }) => ({
      verdicts: [{ ...verdict!, signature: first!.signature }],
    }),
  ),
  recorded(
    'split',
    (receipt) => `the evidence of ${dissentIn(receipt)[0]!.body.address} refutes its verdict`,
    async (receipt) => {
      const [dissent] = dissentIn(receipt)
      return { verdicts: [await signedByNode({ ...dissent!.body, ...matched })] }
    },
  ),

  recorded('good', unaccepted, { verdicts: [] }),
  recorded('split', unaccepted, (receipt) => ({ verdicts: dissentIn(receipt) })),
  said('good', unaccepted, (receipt) => {
    const reasons = ['output-mismatch', 'output-unavailable'] as const
    const positions = receipt.verdicts.map(({ body }) => positionOf(receipt, body.address))
    const refusals = positions.map((position, at) => [
      position,
      { verdict: 'no-match', reason: reasons[at] },
    ])
    return { verdicts: Object.fromEntries(refusals) }
  }),
]
