import { isCause, remedyFor } from '../causes.ts'
import { ProblemError } from '../problem.ts'
import type { ProblemCode } from '../problem-codes.ts'
import { SvcError } from '../svc-error.ts'

const hints: Partial<Record<ProblemCode, string>> = {
  'not-enough-nodes': 'Wait until more nodes serve this model, or choose another model.',
  'not-enough-serving':
    'Wait until more nodes serve it, or ask for another model, comparator or tier.',
  'model-limited': 'Wait until then, or choose another model.',
  'model-withdrawn':
    'Choose another model, or wait until the operators of its nodes have mended them.',
  'terms-refused': 'Run it again: the pool may be too old by now.',
  'key-expired': 'Run it again with another prompt key.',
  'key-used': 'Run it again with another prompt key.',
  'too-many-blobs': 'Run it again with another prompt key.',
  'list-refused': 'Run it again: the list may be too old by now.',
  'too-late-to-cancel': 'Fetch its answer with `open` of the client, or `--open` of the command.',
  'rate-limited': 'Wait a little and try again.',
}

/** Turns a problem of the ICL into a SvcError with the problem's code and a hint on what to do. Other errors stay as they are. */
export function toClientError(error: unknown): unknown {
  if (!(error instanceof ProblemError)) return error
  return new SvcError(error.code, error.message, {
    hint:
      hints[error.code] ??
      causeHint(error.code) ??
      (error.retryable ? 'Try again in a moment.' : 'Check the request and the version in use.'),
    retryable: error.retryable,
    retryAfterSeconds: error.retryAfterSeconds,
    cause: error,
  })
}

const causeHint = (code: string): string | undefined =>
  isCause(code) ? remedyFor('client', code) : undefined
