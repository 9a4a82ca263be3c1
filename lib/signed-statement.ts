import type { Receipt } from './schemas/receipt.ts'
import type {
  SignedAnswer,
  SignedDelivery,
  SignedNumbers,
  SignedTurnAbort,
  SignedVerdict,
} from './schemas/statements.ts'
import { verifySession } from './session-grant.ts'
import { verifySignature } from './session-key.ts'
import { statementBytes } from './statements.ts'
import type { Check } from './svc-error.ts'

type Signed = SignedAnswer | SignedDelivery | SignedVerdict | SignedTurnAbort | SignedNumbers

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
