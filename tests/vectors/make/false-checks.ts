import { attested } from '../../lib/attested.ts'
import { addressAt } from '../../lib/make-receipt.ts'
import { restated } from '../../lib/restate.ts'
import { type FalseReceipt, otherId, positionOf, recorded, underTerms } from './false-receipt.ts'

const firstOf = ({ attested: [first] = [] }: Parameters<typeof attested>[0]) => first!.address
const other = addressAt(5)

/** Numbers of a delivered text that their nodes did not commit to, or that cannot be. */
export const falseChecks: readonly FalseReceipt[] = [
  recorded(
    'attested',
    (receipt) => `${firstOf(receipt)} opened two checks`,
    ({ attested: [first] = [] }) => ({ attested: [first!, first!] }),
  ),
  recorded(
    'attested',
    `${other} attests to a delivery that it did not accept`,
    ({ attested: [first] = [] }) => ({ attested: [{ ...first!, address: other }] }),
  ),
  recorded(
    'attested',
    (receipt) => `${firstOf(receipt)} opened another check than it committed to`,
    ({ attested: [first] = [] }) => ({
      attested: [{ ...first!, score: { ...first!.score, transcript: otherId } }],
    }),
  ),
  {
    of: 'attested',
    why: (receipt) => `${firstOf(receipt)} opened another check than it committed to`,
    make: (receipt) =>
      restated(receipt, {
        verdicts: { [positionOf(receipt, firstOf(receipt))]: { check: otherId } },
      }),
  },
  underTerms('attested', 'it attests numbers that its terms do not ask for', {
    needs: { parts: ['tools'] },
  }),
  ...(
    [
      [{ agree: 41 }, 'more tokens counted than there are'],
      [{ far: 9, agree: 30 }, 'a gap that its tokens cannot have'],
      [{ trimmed: 0 }, 'a trimmed gap that its gap cannot have'],
      [{ quarters: [1, 2, 3, 4] }, 'quarters that do not add up'],
      [{ top: [] }, 'another number of places than are drawn'],
    ] as const
  ).map(
    ([change, why]): FalseReceipt => ({
      of: 'attested',
      why: (receipt) => `the check of ${firstOf(receipt)} has ${why}`,
      make: (receipt) =>
        attested(receipt, (score) => {
          const top = 'top' in change ? score.top.slice(1) : score.top
          const quarters = 'quarters' in change ? [...change.quarters] : score.quarters
          return { ...score, ...change, quarters, top }
        }),
    }),
  ),
]
