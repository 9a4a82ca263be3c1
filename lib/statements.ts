import type { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import type { Address, Hash32, JobId } from './codecs.ts'
import { sha256Hex } from './digest.ts'
import { encode } from './encode.ts'
import type { Evidence } from './schemas/evidence.ts'
import { ListStatement } from './schemas/list.ts'
import { Tally } from './schemas/receipt.ts'
import {
  AckStatement,
  AnswerStatement,
  type BatchCommitment,
  DeliveryStatement,
  NumbersStatement,
  TurnAbortStatement,
  VerdictStatement,
} from './schemas/statements.ts'
import type { SigningKey } from './session-key.ts'

/** A statement that a node signs. */
export type NodeStatement =
  | AnswerStatement
  | DeliveryStatement
  | VerdictStatement
  | TurnAbortStatement
  | NumbersStatement

/** A statement that the ICL signs. */
export type IclStatement = Tally | ListStatement | AckStatement

const schemas: Readonly<Record<(NodeStatement | IclStatement)['statement'], z.ZodType>> = {
  'svc-answer-v3': AnswerStatement,
  'svc-delivery-v2': DeliveryStatement,
  'svc-verdict-v2': VerdictStatement,
  'svc-abort-v2': TurnAbortStatement,
  'svc-numbers-v1': NumbersStatement,
  'svc-tally-v3': Tally,
  'svc-list-v2': ListStatement,
  'svc-ack-v2': AckStatement,
}

/** Returns the bytes of a statement that are signed and hashed: canonical JSON of its wire form. */
export const statementBytes = (statement: NodeStatement | IclStatement): Uint8Array<ArrayBuffer> =>
  canonicalJson(encode(schemas[statement.statement], statement))

/** SHA-256 of a statement, by which other statements name it. */
export const statementHash = (statement: NodeStatement): Promise<Hash32> =>
  sha256Hex(statementBytes(statement))

/** Signs a node's statement with its session key, as it is posted. */
export async function signed<S extends NodeStatement>(
  statement: S,
  key: SigningKey,
): Promise<S & { readonly signature: string }> {
  return { ...statement, signature: await key.sign(statementBytes(statement)) }
}

/** A node's commitment to its evidence: SHA-256 of canonical {jobId, address, fence, evidence, salt}. */
export const commitmentOf = (parts: {
  readonly jobId: JobId
  readonly address: Address
  readonly fence: number
  readonly evidence: Evidence
  readonly salt: string
}): Promise<Hash32> => {
  const { jobId, address, fence, evidence, salt } = parts
  return sha256Hex(canonicalJson({ jobId, address, fence, evidence, salt }))
}

/** What a node signs of the commitments of its batch: SHA-256 of their canonical JSON, by fence. */
export const seenHash = (commitments: readonly BatchCommitment[]): Promise<Hash32> =>
  sha256Hex(canonicalJson(commitments.toSorted((a, b) => a.fence - b.fence)))
