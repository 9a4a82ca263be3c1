import { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import type { Address, Hash32, JobId } from './codecs.ts'
import { sha256Hex } from './digest.ts'
import type { LeaderResult, VerifierVerdict } from './schemas/assignments.ts'
import type { Evidence } from './schemas/evidence.ts'
import { ListStatement } from './schemas/list.ts'
import { LeaderStatement, Tally, VerifierStatement } from './schemas/receipt.ts'
import type { SigningKey } from './session-key.ts'

/** The bytes of a statement that are signed and hashed: canonical JSON of its wire form. */
export function statementBytes(
  statement: LeaderStatement | VerifierStatement | Tally | ListStatement,
): Uint8Array<ArrayBuffer> {
  switch (statement.statement) {
    case 'svc-leader-v1':
      return canonicalJson(z.encode(LeaderStatement, statement))
    case 'svc-verifier-v1':
      return canonicalJson(z.encode(VerifierStatement, statement))
    case 'svc-tally-v2':
      return canonicalJson(z.encode(Tally, statement))
    case 'svc-list-v2':
      return canonicalJson(z.encode(ListStatement, statement))
  }
}

/** SHA-256 of a statement: how other statements name it. */
export const statementHash = (
  statement: LeaderStatement | VerifierStatement | Tally,
): Promise<Hash32> => sha256Hex(statementBytes(statement))

/** What a leader's result states, without its signature. */
export const leaderStatementOf = (
  address: Address,
  { signature: _, ...body }: LeaderResult,
): LeaderStatement => ({ statement: 'svc-leader-v1', address, ...body })

/** What a verifier's verdict states, without its signature. */
export const verifierStatementOf = (
  address: Address,
  { signature: _, ...body }: VerifierVerdict,
): VerifierStatement => ({ statement: 'svc-verifier-v1', address, ...body })

/** A leader's result, signed by its session key. */
export async function signResult(
  address: Address,
  body: Omit<LeaderResult, 'signature'>,
  key: SigningKey,
): Promise<LeaderResult> {
  const statement = leaderStatementOf(address, { ...body, signature: '' })
  return { ...body, signature: await key.sign(statementBytes(statement)) }
}

/** A verifier's verdict, signed by its session key. */
export async function signVerdict(
  address: Address,
  body: Omit<VerifierVerdict, 'signature'>,
  key: SigningKey,
): Promise<VerifierVerdict> {
  const statement = verifierStatementOf(address, { ...body, signature: '' })
  return { ...body, signature: await key.sign(statementBytes(statement)) }
}

/** A verifier's promise of its evidence: SHA-256 of canonical {jobId, address, fence, evidence, salt}. */
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
