import type { Address } from '../codecs.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type {
  SignedAnswer,
  SignedDelivery,
  SignedTurnAbort,
  SignedVerdict,
} from '../schemas/statements.ts'
import { verifySession } from '../session-grant.ts'
import { verifySignature } from '../session-key.ts'
import { statementBytes } from '../statements.ts'
import { check } from './refuse.ts'

type Signed = SignedAnswer | SignedDelivery | SignedVerdict | SignedTurnAbort

/** Checks one statement of a receipt: its node, its job, and its signature. */
export type CheckSigned = (signed: Signed) => Promise<void>

/**
 * Makes the checker of a receipt's signed statements. Each must be about its job, and signed by a session key that the wallet granted until
 * the job settled and that no other wallet uses. It checks each grant once.
 */
export function signedChecker(receipt: Receipt): CheckSigned {
  const grants = new Map<string, Promise<boolean>>()
  const owners = new Map<string, Address>()
  return async ({ body, session, signature }) => {
    const { address } = body
    check(body.jobId === receipt.jobId, `${address} spoke of another job`)
    const owner = owners.get(session.key) ?? address
    check(owner === address, `${owner} and ${address} have the same session key`)
    owners.set(session.key, owner)
    const name = JSON.stringify([address, session])
    const granted = grants.get(name) ?? grantOf(receipt, address, session)
    grants.set(name, granted)
    check(await granted, `the wallet of ${address} did not grant the session key`)
    const { settled_at: settledAt } = receipt.tally.body
    check(session.not_after >= settledAt, `the session of ${address} had ended`)
    check(
      await verifySignature(session.key, signature, statementBytes(body)),
      `${address} did not sign its statement`,
    )
  }
}

const grantOf = (
  { icl_origin: iclOrigin, chain_id: chainId }: Receipt,
  address: Address,
  { key, not_after: notAfter, signature }: Signed['session'],
): Promise<boolean> => verifySession({ address, key, iclOrigin, chainId, notAfter }, signature)
