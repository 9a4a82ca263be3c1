import type { Address } from '../../../lib/codecs.ts'
import { exact } from '../../../lib/comparators/exact.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { Receipt, ReceiptRecord } from '../../../lib/schemas/receipt.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import { aHash, anAddress } from '../../branded.ts'
import { tallied } from '../../lib/make-receipt.ts'
import { type Restated, restated } from '../../lib/restate.ts'
import { fill } from './bytes.ts'

/** The receipts that false ones are made of. */
export type Samples = Readonly<Record<'good' | 'split' | 'third' | 'any' | 'attested', Receipt>>

/** A receipt that does not hold, and for which reason. */
export type FalseReceipt = {
  readonly of: keyof Samples
  readonly why: string | ((receipt: Receipt) => string)
  readonly make: (receipt: Receipt) => Receipt | Promise<Receipt>
  /** Those of the receipt when left out. */
  readonly iclKeys?: readonly string[]
}

type Why = FalseReceipt['why']
type Of<T> = T | ((receipt: Receipt) => T | Promise<T>)

const given = async <T>(of: Of<T>, receipt: Receipt): Promise<T> =>
  typeof of === 'function' ? await (of as (receipt: Receipt) => T | Promise<T>)(receipt) : of

/** The receipt as it is after a change that nobody signed. */
export const altered = (
  of: keyof Samples,
  why: Why,
  change: Of<Partial<Receipt>>,
): FalseReceipt => ({
  ...{ of, why },
  make: async (receipt) => ({ ...receipt, ...(await given(change, receipt)) }),
})

/** The receipt of an ICL that signed another record. */
export const recorded = (
  of: keyof Samples,
  why: Why,
  change: Of<Partial<ReceiptRecord>>,
): FalseReceipt => ({
  ...{ of, why },
  make: async (receipt) => mistakeMade(receipt, await given(change, receipt)),
})

/** The receipt of nodes and an ICL that signed something else. */
export const said = (of: keyof Samples, why: Why, change: Of<Restated>): FalseReceipt => ({
  ...{ of, why },
  make: async (receipt) => restated(receipt, await given(change, receipt)),
})

/** The receipt under other terms, which the nodes' commitments do not cover. */
export const underTerms = (of: keyof Samples, why: Why, terms: Partial<Terms>): FalseReceipt =>
  recorded(of, why, ({ list }) => ({ list: { ...list, terms: { ...list.terms, ...terms } } }))

/** A receipt whose record is another, with a tally that fits. */
export async function mistakeMade(
  receipt: Receipt,
  change: Partial<ReceiptRecord>,
): Promise<Receipt> {
  const { group, deliverer } = receipt.tally.body
  return await tallied({ ...receipt, ...change }, { group, deliverer })
}

export const positionOf = ({ list }: Receipt, address: Address): number =>
  list.members.indexOf(address)

/** A member of the group that does not deliver. */
export function checkerOf({ verdicts }: Receipt): Address {
  const found = verdicts.find(({ body }) => body.verdict === 'match')
  if (!found) throw new RangeError('nobody checked')
  return found.body.address
}

export const evidenceOf = (text: string): Promise<Evidence> =>
  exact.evidenceOf({ text, prompt: '', key: fill(3) })

export const otherId = aHash(`0x${'1'.repeat(64)}`)
export const otherCid = `bafkrei${'c'.repeat(51)}a`
export const stranger = anAddress(`0x${'9'.repeat(40)}`)
