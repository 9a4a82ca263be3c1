/** An inference's place in a queue: among this client's own, or among all clients' draws at the ICL. Places count from 1. */
export type QueuePlace = {
  readonly at: 'client' | 'icl'
  readonly place: number
  readonly waiting: number
}

/** Lets a client run as many inferences at once as the ICL allows it jobs, first come, first served. */
export type Turns = {
  /** Waits for a turn. `end` gives it back. Throws the signal's reason. */
  take(onPlace: (place: QueuePlace) => void, signal?: AbortSignal): Promise<{ end: () => void }>
}

type Waiter = { readonly go: () => void; readonly tell: (place: number, waiting: number) => void }

/** Makes turns for `atOnce` inferences. One that waits here has paid nothing. */
export function createTurns(atOnce: number): Turns {
  let running = 0
  const waiting: Waiter[] = []
  const tellAll = () => {
    for (const [index, { tell }] of waiting.entries()) tell(index + 1, waiting.length)
  }
  const end = () => {
    // The next waiter takes over this turn.
    const next = waiting.shift()
    if (!next) running -= 1
    else {
      next.go()
      tellAll()
    }
  }
  const once = () => {
    let ended = false
    return {
      end: () => {
        if (!ended) end()
        ended = true
      },
    }
  }
  return {
    take: async (onPlace, signal) => {
      signal?.throwIfAborted()
      if (running < atOnce) {
        running += 1
        return once()
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.splice(waiting.indexOf(waiter), 1)
          tellAll()
          reject(signal?.reason)
        }
        const waiter: Waiter = {
          go: () => {
            signal?.removeEventListener('abort', leave)
            resolve()
          },
          tell: (place, count) => onPlace({ at: 'client', place, waiting: count }),
        }
        waiting.push(waiter)
        signal?.addEventListener('abort', leave, { once: true })
        waiter.tell(waiting.length, waiting.length)
      })
      return once()
    },
  }
}
