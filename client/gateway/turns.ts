import { OpenAiError } from './openai-error.ts'

/** Lets few work at the same time; the others wait their turn. */
export type Turns = {
  /** Runs work once it is its turn; throws OpenAiError 429 when too many wait, or the signal's reason. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Makes turns for `atOnce` at a time and `maxWaiting` more. */
export function createTurns(atOnce: number, maxWaiting: number): Turns {
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
    const { promise, resolve, reject } = Promise.withResolvers<void>()
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
    return promise
  }
  return {
    run: async (signal, work) => {
      signal.throwIfAborted()
      await take(signal)
      try {
        return await work()
      } finally {
        // Whoever is next takes over this turn.
        const next = waiting.shift()
        if (next) next()
        else running -= 1
      }
    },
  }
}
