type Row = { readonly status: number; readonly retryable: boolean; readonly title: string }
const row = (status: number, title: string, retryable = false): Row => ({
  status,
  retryable,
  title,
})

/** Every error code the ICL can answer with, its HTTP status, and whether the same request may succeed later (spec 7). */
export const problemCodes = {
  'invalid-request': row(400, 'The request does not have the documented form'),
  'not-enough-nodes': row(400, 'Not enough active nodes for the requested quorum', true),
  'preview-invalid': row(400, 'The preview token is not one of this ICL, or has expired'),
  'evidence-invalid': row(400, 'The evidence does not have the form its comparator demands'),
  'blob-invalid': row(400, 'The blob is empty'),

  'signature-missing': row(401, 'The request must be signed'),
  'signature-invalid': row(401, 'The request signature is not valid'),
  'signature-stale': row(401, 'The request signature is too old or from the future', true),
  'nonce-reused': row(401, 'The request nonce was used before'),
  'not-attested': row(401, 'The ICL knows no attestation of this node'),
  'certificate-expired': row(401, 'The attestation certificate has expired'),
  'certificate-superseded': row(401, 'A newer attestation of this node uses another session key'),

  forbidden: row(403, 'The caller may not do this'),
  'not-assigned': row(403, 'The node has no part in this job'),
  'not-key-owner': row(403, 'The client does not own these key handles as one record'),
  'challenge-invalid': row(403, 'The challenge nonce was not issued for this address'),
  'challenge-expired': row(403, 'The challenge nonce is older than 300 s'),
  'challenge-used': row(403, 'The challenge nonce was used before'),
  'attestation-backend-refused': row(403, 'This ICL does not accept this attestation backend'),
  'attestation-hmac-invalid': row(403, 'The HMAC does not prove knowledge of the mock key'),
  'session-signature-invalid': row(403, 'The wallet did not sign this session key'),
  'statement-signature-invalid': row(403, 'The session key did not sign this statement'),

  'not-found': row(404, 'There is nothing at this address'),
  'node-not-found': row(404, 'No such node'),
  'job-not-found': row(404, 'No such job'),
  'blob-not-found': row(404, 'No such blob'),
  'receipt-not-ready': row(404, 'The job has no receipt: it was not accepted, or not yet'),
  'method-not-allowed': row(405, 'The address exists, but not with this method'),

  'preview-stale': row(409, 'A previewed node has left the pool'),
  'job-conflict': row(409, 'This job exists with another body'),
  'job-settled': row(409, 'The job has settled'),
  'stale-fence': row(409, 'The assignment has been offered again since'),
  'wrong-role': row(409, 'The assignment has another role'),
  'not-claimed': row(409, 'The assignment is not claimed'),
  'already-committed': row(409, 'Another commitment was made for this assignment'),
  'already-answered': row(409, 'Another answer was given for this assignment'),
  'not-committed': row(409, 'The verifier has not committed yet'),
  'no-result-yet': row(409, 'The leader has not posted a result yet', true),
  'commitment-mismatch': row(409, 'The evidence is not the one committed to'),
  'statement-mismatch': row(
    409,
    'The statement is about another model or another leader statement',
  ),
  'output-key-unreadable': row(409, 'The client cannot read the output key', true),

  'body-too-large': row(413, 'The body is too large'),
  'unsupported-media-type': row(415, 'The content type is not supported'),
  'too-many-jobs': row(429, 'The client has too many jobs that have not settled', true),
  'rate-limited': row(429, 'Too many requests', true),

  'internal-error': row(500, 'The ICL failed', true),
  'chain-unavailable': row(503, 'The chain cannot be reached', true),
  unavailable: row(503, 'The ICL cannot serve this now', true),
} as const satisfies Record<string, Row>

export type ProblemCode = keyof typeof problemCodes
