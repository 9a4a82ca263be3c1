/*
 * Problem: only the ICL says that a node missed a step. It could claim that a node was late because the node disagreed.
 *
 * Idea: the ICL signs an acknowledgement of each commitment, answer and delivery that it accepts. The node keeps them, and any holder of
 * one can compare it with the job's receipt.
 */

import type { Address } from './codecs.ts'
import { check } from './receipt/refuse.ts'
import { AbortReason } from './schemas/jobs.ts'
import type { Receipt } from './schemas/receipt.ts'
import type { Ack } from './schemas/statements.ts'
import { verifySignature } from './session-key.ts'
import { commitmentOf, statementBytes, statementHash } from './statements.ts'
import { SvcError } from './svc-error.ts'

/** Checks that one of the ICL's published keys (base64url) signed an acknowledgement; throws SvcError `ack-invalid`. */
export async function verifyAck(
  { body, key, signature }: Ack,
  iclKeys: readonly string[],
): Promise<void> {
  const isKnown = iclKeys.includes(key)
  if (isKnown && (await verifySignature(key, signature, statementBytes(body)))) return
  throw new SvcError(
    'ack-invalid',
    `The acknowledgement does not hold: ${isKnown ? 'the key did not sign it' : 'its key is not one of the ICL'}`,
    { hint: 'Do not rely on it: only what the ICL has signed binds it.' },
  )
}

/** Compares a receipt with an acknowledgement. False for another job's. Throws SvcError `receipt-invalid` when they contradict: the receipt is false. */
export async function checkAck(
  receipt: Receipt,
  { body: ack }: Pick<Ack, 'body'>,
): Promise<boolean> {
  if (ack.jobId !== receipt.jobId) return false
  const step = `the ICL acknowledged the ${ack.step} of ${ack.address}`
  if (ack.step === 'result') {
    const hashes = await Promise.all(deliveriesOf(receipt).map(({ body }) => statementHash(body)))
    check(hashes.includes(ack.body_hash), `${step}, and the receipt has no such delivery`)
    return true
  }
  const isOwn = ({ address, fence }: { readonly address: Address | undefined; fence: number }) =>
    address === ack.address && fence === ack.fence
  const answer = receipt.answers.find(({ body }) => isOwn(body))
  if (ack.step === 'reveal') {
    check(answer !== undefined, `${step}, and the receipt has no answer of it`)
    const isSame = (await statementHash(answer.body)) === ack.body_hash
    check(isSame, `${step}, and the receipt has another answer of it`)
    return true
  }
  if (answer !== undefined) {
    const isOpened = (await commitmentOf(answer.body)) === ack.body_hash
    check(isOpened, `${step}, and its answer in the receipt opens another`)
    return true
  }
  const { members } = receipt.list
  const over = receipt.over.find(({ position, fence }) =>
    isOwn({ address: members[position], fence }),
  )
  check(over !== undefined, `${step}, and the receipt leaves it out`)
  const seen = receipt.seen.flat().find(isOwn)
  const isSeen = seen === undefined || seen.commitment === ack.body_hash
  check(isSeen, `${step}, and its batch saw another in the receipt`)
  const { reason } = over
  const mayFollow = reason === 'never-revealed' || AbortReason.safeParse(reason).success
  check(mayFollow, `${step}, and in the receipt its seat was over before (${reason})`)
  return true
}

const deliveriesOf = ({ delivery, failed_deliveries: failed }: Receipt) => [
  delivery,
  ...failed.flatMap((turn) => (turn.delivery ? [turn.delivery] : [])),
]
