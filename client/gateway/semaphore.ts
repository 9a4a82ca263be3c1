import { OpenAiError } from './openai-error.ts'

/** Lets few work at the same time; the others wait. */
export type Semaphore = {
  /** Runs work once there is room; throws OpenAiError 429 when too many wait, or the signal's reason. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Makes a semaphore for `atOnce` at a time and `maxWaiting` more. */
export function createSemaphore(atOnce: number, maxWaiting: number): Semaphore {
  let running = 0
  const waiting: (() => void)[] = []
  const take = (signal: AbortSignal): Promise<void> | undefined => {
    if (running < atOnce) {
      running += 1
      return undefined
    }
    if (waiting.length >= maxWaiting) {
      throw new OpenAiError(429, 'rate_limit_error', 'Too many requests wait already', {
        code: 'too_many_requests',
        retryable: true,
        retryAfterSeconds: 5,
      })
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      const go = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      waiting.push(go)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
  return {
    run: async (signal, work) => {
      signal.throwIfAborted()
      await take(signal)
      try {
        return await work()
      } finally {
        // The next one takes over this permit.
        const next = waiting.shift()
        if (next) next()
        else running -= 1
      }
    },
  }
}
