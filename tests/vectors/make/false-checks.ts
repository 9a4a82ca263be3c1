import type { Receipt } from '../../../lib/schemas/receipt.ts'
import type { NumbersStatement, SignedNumbers } from '../../../lib/schemas/statements.ts'
import { statementHash } from '../../../lib/statements.ts'
import { aJobId } from '../../branded.ts'
import { addressAt, signedByNode } from '../../lib/make-receipt.ts'
import { type FalseReceipt, otherId, recorded, underTerms } from './false-receipt.ts'

const firstOf = ({ attested: [first] = [] }: Receipt) => first!

/** A receipt with only these numbers, made of those of the first node, whose address takes the place of `NODE` in the reason. */
const numbered = (
  why: string,
  change: (first: SignedNumbers, receipt: Receipt) => Promise<SignedNumbers>,
): FalseReceipt =>
  recorded(
    'attested',
    (receipt) => why.replace('NODE', firstOf(receipt).body.address),
    async (receipt) => ({ attested: [await change(firstOf(receipt), receipt)] }),
  )

type Weighed = NumbersStatement['weighed']

/** The first node signed that it weighed other answers, or found something else. */
const weighing = (
  wrong: string,
  change: (weighed: Weighed, receipt: Receipt) => Weighed | Promise<Weighed>,
): FalseReceipt =>
  numbered(`the numbers of NODE have ${wrong}`, async ({ body }, receipt) =>
    signedByNode({ ...body, weighed: await change(body.weighed, receipt) }),
  )

/** Numbers that their nodes did not sign, were not to give, or that cannot be. */
export const falseChecks: readonly FalseReceipt[] = [
  recorded(
    'attested',
    (receipt) => `${firstOf(receipt).body.address} opened numbers twice`,
    ({ attested: [first] = [] }) => ({ attested: [first!, first!] }),
  ),
  numbered(`${addressAt(5)} attests without an answer`, ({ body }) =>
    signedByNode({ ...body, address: addressAt(5) }),
  ),
  numbered('NODE attests without an answer', ({ body }) =>
    signedByNode({ ...body, fence: body.fence + 1 }),
  ),
  numbered('NODE spoke of another job', ({ body }) =>
    signedByNode({ ...body, jobId: aJobId(otherId) }),
  ),
  numbered('NODE did not sign its statement', async ({ body, ...signed }) => ({
    ...signed,
    body: { ...body, salt: body.salt.replace(/^A/, 'B') },
  })),
  underTerms('attested', 'it attests numbers that its terms do not ask for', {
    needs: { parts: ['tools'] },
  }),
  weighing('an answer that its node does not weigh', async ([one], { answers: [own] }) => [
    { ...one!, answer: await statementHash(own!.body) },
  ]),
  weighing('an answer twice', ([one]) => [one!, one!]),
  ...(
    [
      [{ agree: 41 }, 'more tokens counted than there are'],
      [{ far: 9, agree: 30 }, 'a gap that its tokens cannot have'],
      [{ trimmed: 0 }, 'a trimmed gap that its gap cannot have'],
      [{ quarters: [1, 2, 3, 4] }, 'quarters that do not add up'],
      [{ top: [] }, 'another number of places than are drawn'],
    ] as const
  ).map(([change, why]) =>
    weighing(why, ([{ answer, score } = {} as never, ...others]) => {
      const top = 'top' in change ? score!.top.slice(1) : score!.top
      const quarters = 'quarters' in change ? [...change.quarters] : score!.quarters
      return [{ answer, score: { ...score!, ...change, quarters, top } }, ...others]
    }),
  ),
]
