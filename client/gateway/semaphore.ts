import { createTurns } from '../../lib/client/turns.ts'
import { OpenAiError } from './openai-error.ts'

/** Lets few work at the same time; the others wait. */
export type Semaphore = {
  /** Runs work once there is room; throws OpenAiError 429 when too many wait, or the signal's reason. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Makes a semaphore for `atOnce` at a time and `maxWaiting` more. */
export function createSemaphore(atOnce: number, maxWaiting: number): Semaphore {
  const turns = createTurns(atOnce)
  let taken = 0
  const runInTurn = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const turn = await turns.take(() => {}, signal)
    return await work().finally(turn.end)
  }
  return {
    run: async (signal, work) => {
      if (taken >= atOnce + maxWaiting) {
        throw new OpenAiError(429, 'rate_limit_error', 'Too many requests wait already', {
          code: 'too_many_requests',
          retryable: true,
          retryAfterSeconds: 5,
        })
      }
      taken += 1
      return await runInTurn(signal, work).finally(() => {
        taken -= 1
      })
    },
  }
}
