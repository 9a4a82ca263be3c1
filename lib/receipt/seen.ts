import type { Receipt } from '../schemas/receipt.ts'
import { commitmentOf, seenHash } from '../statements.ts'
import type { NamedAnswer } from './answers.ts'
import { check } from './refuse.ts'

/**
 * Checks that no node could know another answer of its batch when it committed to its own: each signed that it saw the same commitments
 * before it revealed, and it revealed what it had committed to. A node that saw a commitment and did not reveal is named as such.
 */
export async function verifySeen(
  { seen, over, list: { members } }: Receipt,
  answers: readonly NamedAnswer[],
): Promise<void> {
  const fences = seen.flat().map(({ fence }) => fence)
  const isOrdered = fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0))
  check(isOrdered, 'its commitments are not in the order of their seats')
  const unrevealed = over.filter(({ reason }) => reason === 'never-revealed')
  for (const [batch, commitments] of seen.entries()) {
    const hash = await seenHash(commitments)
    for (const { address, fence, commitment } of commitments) {
      const answer = answers.find((one) => one.fence === fence)
      if (!answer) {
        const position = unrevealed.find((seat) => seat.fence === fence)?.position ?? -1
        check(members[position] === address, `it lacks the answer that ${address} committed to`)
        continue
      }
      check(answer.address === address, `the commitment of ${answer.address} is of another node`)
      check(answer.batch === batch, `${address} committed in another batch`)
      check(answer.seen === hash, `${address} saw other commitments before it revealed`)
      const isOpened = (await commitmentOf(answer)) === commitment
      check(isOpened, `${address} revealed another answer than it committed to`)
    }
  }
  const isWhole = fences.length === answers.length + unrevealed.length
  check(isWhole, 'a node revealed, or was to reveal, without a commitment')
}
