import { z } from 'zod'
import { Address, Base64Url, JobId, QueryInt } from '../codecs.ts'

/** The node in the path. */
export const AddressPath = z.object({ address: Address })
/** The job in the path. */
export const JobPath = z.object({ jobId: JobId })
/** The `next_cursor` of the previous page. */
export const Cursor = Base64Url(256)
/** How long to hold a request until there is news, in seconds. The answer to a node's post is held until the node's next step. */
export const Wait = z.object({
  wait: QueryInt(0, 30).default(0),
})
/** Problems of a body. */
export const bodyProblems = ['invalid-request', 'body-too-large', 'unsupported-media-type'] as const
/** Problems of a signature. */
export const signatureProblems = [
  'signature-missing',
  'signature-invalid',
  'signature-stale',
  'nonce-reused',
] as const
/** Problems of a signature or a read token. */
export const readerProblems = [...signatureProblems, 'token-invalid'] as const
/** Problems of an attestation nonce. */
export const challengeProblems = [
  'challenge-invalid',
  'challenge-expired',
  'challenge-used',
] as const
/** Problems of a request by an attested node. */
export const nodeProblems = [
  'signature-missing',
  'signature-invalid',
  'signature-stale',
  'not-attested',
  'certificate-expired',
  'run-superseded',
  'run-conflict',
  'forbidden',
] as const
/** Problems of a post by a node that acts in a job. */
export const assignmentProblems = [
  ...bodyProblems,
  ...nodeProblems,
  'job-not-found',
  'not-assigned',
  'stale-fence',
  'job-settled',
] as const
/** Problems of a node's signed statement. */
export const statementProblems = ['statement-mismatch', 'statement-signature-invalid'] as const
