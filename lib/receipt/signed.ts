import type { Address } from '../codecs.ts'
import type { Receipt } from '../schemas/receipt.ts'
import { type CheckSigned, statementChecker } from '../signed-statement.ts'
import { check } from './refuse.ts'

/** Makes the checker of a receipt's statements, whose session keys also must last until the job settled and be of one wallet each. */
export function signedChecker(receipt: Receipt): CheckSigned {
  const checkStatement = statementChecker(receipt, check)
  const owners = new Map<string, Address>()
  return async (signed) => {
    const { address } = signed.body
    const { key, not_after: notAfter } = signed.session
    const owner = owners.get(key) ?? address
    check(owner === address, `${owner} and ${address} have the same session key`)
    owners.set(key, owner)
    await checkStatement(signed)
    check(notAfter >= receipt.tally.body.settled_at, `the session of ${address} had ended`)
  }
}
