import { decide, type Quota, quotaOf } from '../agreement-rule.ts'
import type { Address, Hash32 } from '../codecs.ts'
import { comparators } from '../comparators/all.ts'
import { listCommitment } from '../list-commitment.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type { CheckSigned } from '../signed-statement.ts'
import { statementHash } from '../statements.ts'
import { check } from './refuse.ts'

type Answer = Receipt['answers'][number]

/** An answer with its hash, as other statements name it. */
export type NamedAnswer = Answer['body'] & { readonly batch: number; readonly hash: Hash32 }

/** Returns the quota of a receipt's job, by the terms of its list. */
export function receiptQuota({ list: { terms, members } }: Pick<Receipt, 'list'>): Quota {
  const result = quotaOf({
    rule: terms.rule,
    quorum: terms.quorum,
    maxAnswers: terms.max_answers,
    minMatches: terms.min_matches,
    listLength: members.length,
  })
  if (result.outcome === 'refused') check(false, result.why)
  return result.quota
}

/** Checks each answer and its place among the others. Calls `onHeld` for each answer that passes. */
export async function verifyAnswers(
  receipt: Receipt,
  checkSigned: CheckSigned,
  onHeld: (node: Address) => void,
): Promise<readonly NamedAnswer[]> {
  const { jobId, answers, list } = receipt
  const { activator, until, members } = list
  const commitment = listCommitment({ jobId, activator, until, list: members })
  const named: NamedAnswer[] = []
  for (const answer of answers) {
    const before = named.at(-1)
    const { address } = answer.body
    check(!named.some((other) => other.address === address), `${address} answered twice`)
    check(
      before === undefined || isLater(before, answer),
      `the answer of ${address} is out of order`,
    )
    check(members[answer.body.position] === address, `${address} is not at its place on the list`)
    check(answer.body.list === commitment, `${address} answered for another list`)
    check(answer.body.model_id === list.terms.model_id, `${address} ran another model`)
    check(
      answer.body.max_output_tokens === receipt.max_output_tokens,
      `${address} allowed another length of answer`,
    )
    const malformation = comparators[list.terms.comparator].malformation(answer.body.evidence)
    check(malformation === undefined, `the evidence of ${address} is malformed: ${malformation}`)
    await checkSigned(answer)
    named.push({ ...answer.body, batch: answer.batch, hash: await statementHash(answer.body) })
    onHeld(address)
  }
  checkSeats(receipt)
  return named
}

const isLater = (before: NamedAnswer, { batch, body }: Answer): boolean =>
  batch > before.batch || (batch === before.batch && body.position > before.position)

/**
 * Checks that the receipt skips no node silently: each, up to the last position that had a seat, answered, failed or was passed over. A node
 * that has committed to an answer got no other seat.
 */
function checkSeats({ answers, over, list: { members, passed } }: Receipt): void {
  check(
    over.every(({ position }) => position < members.length),
    'it seats a node that is not on its list',
  )
  const committed = [
    ...answers.map(({ body }) => body),
    ...over.filter(({ reason }) => reason === 'never-revealed'),
  ]
  const seats = [...answers.map(({ body }) => body), ...over]
  const fences = new Set(seats.map(({ fence }) => fence))
  check(fences.size === seats.length, 'two of its assignments have the same fence')
  for (const { position, fence } of committed) {
    const isLast = seats.every((other) => other.position !== position || other.fence <= fence)
    check(isLast, `${members[position]} got another seat after its commitment`)
  }
  const seated = seats.map(({ position }) => position)
  const known = new Set([...seated, ...passed.map(({ position }) => position)])
  const unknown = members.findIndex((_, position) => !known.has(position))
  check(
    unknown === -1 || unknown > Math.max(...seated),
    `it does not say what became of ${members[unknown]}`,
  )
}

/**
 * Decides again after each batch, and checks that the next batch has as many nodes as were missing. Where nodes of a batch did not reveal,
 * the next batch takes their seats before anything is decided. Returns the answers of the group.
 */
export function replayBatches(
  receipt: Receipt,
  answers: readonly NamedAnswer[],
  quota: Quota,
): readonly NamedAnswer[] {
  const { seen, list, tally } = receipt
  const { compare } = comparators[list.terms.comparator]
  const isMatch = (one: NamedAnswer, other: NamedAnswer) =>
    compare(one.evidence, other.evidence) === 'match'
  check(answers.length <= quota.maxAnswers, 'it has more answers than its terms allow')
  let missing = quota.quorum
  for (const [batch, { length: size }] of seen.entries()) {
    check(size === missing, `batch ${batch} has ${size} nodes, where ${missing} were missing`)
    const known = answers.filter((answer) => answer.batch <= batch)
    missing = size - known.filter((answer) => answer.batch === batch).length
    if (missing > 0) continue
    const decision = decide(known, isMatch, quota)
    if (decision.outcome === 'accepted') {
      check(batch === seen.length - 1, `its answers agreed before batch ${seen.length - 1}`)
      check(decision.mask === tally.body.group, 'the tally has another group')
      return decision.group
    }
    if (decision.outcome === 'disputed') break
    missing = decision.count
  }
  check(false, 'its answers do not agree')
}
