import type { Hash32 } from '../../lib/codecs.ts'
import type {
  AnswerStatement,
  DeliveryStatement,
  NumbersStatement,
  StatementSession,
  TurnAbortStatement,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'

/** A node's statement as it was posted. */
export type Posted<Body> = {
  readonly body: Body
  readonly hash: Hash32
  readonly signature: string
  readonly session: StatementSession
}
export type PostedAnswer = Posted<AnswerStatement>
export type PostedDelivery = Posted<DeliveryStatement>
export type PostedVerdict = Posted<VerdictStatement>
export type PostedTurnAbort = Posted<TurnAbortStatement>
export type PostedNumbers = Posted<NumbersStatement>

/** A statement that can prove a fault. */
export type PostedStatement = PostedAnswer | PostedDelivery | PostedVerdict

/** A statement as others see it, without the hash that the ICL keeps with it. */
export const signedOf = <Body>({ body, signature, session }: Posted<Body>) => ({
  body,
  signature,
  session,
})
