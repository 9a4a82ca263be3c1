import { z } from 'zod'
import { Address, Base64Url, JobId, QueryInt } from '../codecs.ts'

/** The node in the path. */
export const AddressPath = z.object({ address: Address })
/** The job in the path. */
export const JobPath = z.object({ jobId: JobId })
/** Where a list goes on: the `next_cursor` of the page before. */
export const Cursor = Base64Url(256)
/** How long to hold a request until there is news, in seconds. Of what a node posts the answer is held until its next step. */
export const Wait = z.object({
  wait: QueryInt(0, 30).default(0),
})
/** How a node asks for work. */
export const Poll = Wait.extend({
  claim: QueryInt(0, 32).default(0).describe('Claim so many of the offers at once'),
  poll: Base64Url(32)
    .default('')
    .describe(
      'With `claim`: a name for the poll. Sent again, it brings the same claims. A poll without one brings all that polls claimed and the node has not',
    ),
})

/** Why a signature does not count. */
export const signatureProblems = [
  'signature-missing',
  'signature-invalid',
  'signature-stale',
  'nonce-reused',
] as const
/** Why neither a signature nor a read token counts. */
export const readerProblems = [...signatureProblems, 'token-invalid'] as const
/** Why an attestation nonce does not count. */
export const challengeProblems = [
  'challenge-invalid',
  'challenge-expired',
  'challenge-used',
] as const
/** Why a request does not count as an attested node's. */
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
/** Why a node cannot act in a job. */
export const assignmentProblems = [
  ...nodeProblems,
  'job-not-found',
  'not-assigned',
  'stale-fence',
  'job-settled',
] as const
/** What can be wrong with a body. */
export const bodyProblems = ['invalid-request', 'body-too-large', 'unsupported-media-type'] as const
