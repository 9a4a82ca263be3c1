import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ErrorParts } from './coprocessor-messages.ts'

/** Turns an error into a message for another thread. An error that is not an SvcError keeps its first line. */
export function toErrorParts(error: unknown): ErrorParts {
  if (error instanceof SvcError) {
    const { code, message, hint, retryable } = error
    return { code, message, hint, retryable }
  }
  const text = errorMessage(error)
  return {
    code: 'failed',
    message: text.split('\n')[0] ?? '',
    hint: 'Reload the page and try again.',
    retryable: false,
  }
}

/** Restores the error on the other side. */
export const fromErrorParts = ({ code, message, hint, retryable }: ErrorParts): SvcError =>
  new SvcError(code, message, { hint, retryable })
