import { deliverers, settled } from '../delivery-rule.ts'
import { isRefuted } from '../fault.ts'
import { AbortReason, type DeliveryReason } from '../schemas/jobs.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type {
  SignedDelivery,
  SignedTurnAbort,
  SignedVerdict,
  TurnAbortStatement,
} from '../schemas/statements.ts'
import type { CheckSigned } from '../signed-statement.ts'
import { statementHash } from '../statements.ts'
import type { NamedAnswer } from './answers.ts'
import { check } from './refuse.ts'

/** What a receipt's deliveries are checked against. */
type Agreed = {
  readonly answers: readonly NamedAnswer[]
  readonly group: readonly NamedAnswer[]
  readonly checkSigned: CheckSigned
}

/** Checks who delivered, the order of the turns, and the verdicts on each delivery. */
export async function verifyDeliveries(receipt: Receipt, agreed: Agreed): Promise<void> {
  const { failed_deliveries: failed, delivery, verdicts, tally } = receipt
  const { group } = agreed
  const order = deliverers(group).map(({ address }) => address)
  for (const [turn, { address, reason, abort, delivery, verdicts }] of failed.entries()) {
    check(order[turn] === address, `it was not the turn of ${address} to deliver`)
    check(turn + 1 < order.length, 'no member is left to deliver')
    const isGivenBack = AbortReason.safeParse(reason).success
    check(isGivenBack === (abort !== undefined), `${address} failed to deliver for another reason`)
    if (abort) await checkAbort(abort, { turn, address, reason }, agreed)
    const isChecked = reason === 'output-refused' || reason === 'never-checked'
    check(isChecked === (delivery !== undefined), `${address} failed to deliver for another reason`)
    check(delivery !== undefined || verdicts.length === 0, `${address} had delivered nothing`)
    if (!delivery) continue
    check(delivery.body.address === address, `the delivery of ${address} is of another node`)
    const outcome = await outcomeOf(delivery, verdicts, agreed)
    check(outcome === reason, `the verdicts call the delivery of ${address} ${outcome}`)
  }
  const deliverer = order[failed.length]
  check(tally.body.deliverer === deliverer, 'it was the turn of another node to deliver')
  check(delivery.body.address === deliverer, 'another node delivered')
  const outcome = await outcomeOf(delivery, verdicts, agreed)
  check(outcome === 'settled', 'the verdicts do not accept the delivery')
}

/** Only the member itself gives its turn back, under its signature. A turn that it let pass must be called lapsed. */
async function checkAbort(
  abort: SignedTurnAbort,
  turn: Pick<TurnAbortStatement, 'turn' | 'address'> & { readonly reason: DeliveryReason },
  { group, checkSigned }: Agreed,
): Promise<void> {
  const { address, fence, reason } = abort.body
  const member = group.find((answer) => answer.address === turn.address)
  const isOwn = address === turn.address && fence === member?.fence
  check(
    isOwn && abort.body.turn === turn.turn && reason === turn.reason,
    `${turn.address} gave back something else than its turn`,
  )
  await checkSigned(abort)
}

/** Decides on a delivery by its verdicts, and checks each of them. */
async function outcomeOf(
  delivery: SignedDelivery,
  verdicts: readonly SignedVerdict[],
  { answers, group, checkSigned }: Agreed,
): Promise<ReturnType<typeof settled>> {
  const { address, fence } = delivery.body
  const delivered = group.find((answer) => answer.address === address)
  check(delivered?.fence === fence, `${address} delivered for another assignment`)
  check(delivered.hash === delivery.body.answer, `${address} delivered another answer`)
  await checkSigned(delivery)
  const hash = await statementHash(delivery.body)
  const said = new Map<string, SignedVerdict['body']['verdict']>()
  for (const { body, ...rest } of verdicts) {
    const own = answers.find((answer) => answer.address === body.address)
    check(own !== undefined, `${body.address} gave a verdict without an answer`)
    check(body.address !== address, `${address} gave a verdict on its own delivery`)
    check(!said.has(body.address), `${body.address} gave two verdicts`)
    said.set(body.address, body.verdict)
    check(own.fence === body.fence, `the verdict of ${body.address} is for another assignment`)
    check(body.answer === own.hash, `${body.address} compared another answer of its own`)
    check(body.delivery === hash, `${body.address} looked at another delivery`)
    check(
      (body.verdict === 'no-match') === (body.reason !== undefined),
      `${body.address} gave no reason, or one too many`,
    )
    const isBorneOut = !isRefuted(delivered, own, body)
    check(isBorneOut, `the evidence of ${body.address} refutes its verdict`)
    await checkSigned({ body, ...rest })
  }
  const checkers = group.filter((member) => member.address !== address)
  return settled(
    checkers.map((checker) => said.get(checker.address)),
    true,
  )
}
