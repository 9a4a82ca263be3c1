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
import type { Check } from '../svc-error.ts'
import { check } from './refuse.ts'

type Signed = SignedAnswer | SignedDelivery | SignedVerdict | SignedTurnAbort

/** Checks one signed statement of a node. */
export type CheckSigned = (signed: Signed) => Promise<void>

/** Makes the checker of a job's statements: of this job, signed by a session key that the wallet granted. It checks each grant once. */
export function statementChecker(
  of: Pick<Receipt, 'jobId' | 'icl_origin' | 'chain_id'>,
  check: Check,
): CheckSigned {
  const grants = new Map<string, Promise<boolean>>()
  return async ({ body, session, signature }) => {
    const { address } = body
    const { key, not_after: notAfter } = session
    check(body.jobId === of.jobId, `${address} spoke of another job`)
    const grant = { address, key, iclOrigin: of.icl_origin, chainId: of.chain_id, notAfter }
    const name = JSON.stringify([address, session])
    const granted = grants.get(name) ?? verifySession(grant, session.signature)
    grants.set(name, granted)
    check(await granted, `the wallet of ${address} did not grant the session key`)
    const isSigned = await verifySignature(key, signature, statementBytes(body))
    check(isSigned, `${address} did not sign its statement`)
  }
}

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
