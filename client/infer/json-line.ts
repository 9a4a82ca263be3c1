import type {
  FailedInference,
  UncommittedError,
  UncommittedInference,
} from '../../lib/client/inference.ts'
import { explainError } from '../../lib/host/explain-error.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** How an inference ended, as one object for machines. */
export const jsonResult = (
  inference: FailedInference | (UncommittedInference & { readonly commitTx: string | undefined }),
) => {
  const accepted = inference.status === 'accepted' ? inference : undefined
  return {
    jobId: inference.jobId,
    status: inference.status,
    model: inference.model,
    output: accepted?.output ?? null,
    deliverer: inference.deliverer ?? null,
    agreed: accepted?.agreed.agreed ?? null,
    answers: accepted?.agreed.answers ?? null,
    list_length: accepted?.agreed.listLength ?? null,
    verdicts: inference.verdicts.map(({ node, verdict }) => ({ node, verdict })),
    attested: accepted?.attested ?? null,
    commit_tx: accepted?.commitTx ?? null,
    receipt_hash: accepted?.receiptHash ?? null,
    timings_ms: inference.timingsMs,
    proof: inference.proof
      ? { bytes: inference.proof.bytes, steps_ms: inference.proof.stepsMs }
      : null,
  }
}

/** A checked answer that was not seen on chain, and why, as one object for machines. */
export const jsonUncommitted = (error: UncommittedError) => ({
  ...jsonResult({ ...error.inference, commitTx: undefined }),
  error: jsonFailure(error, error.inference.jobId).error,
})

/** Why there is no answer, as one object for machines. */
export const jsonFailure = (error: unknown, jobId: string | undefined) => {
  const { message, hint = null } = explainError(error)
  const code = error instanceof SvcError ? error.code : 'failed'
  return { jobId: jobId ?? null, status: 'failed', output: null, error: { code, message, hint } }
}
