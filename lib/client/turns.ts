/** Where an inference stands that waits: among those of this client, or among the draws of all clients at the ICL. Places count from 1. */
export type QueuePlace = {
  readonly at: 'client' | 'icl'
  readonly place: number
  readonly waiting: number
}

/** Lets as many inferences of a client go on at once as the ICL lets it have jobs, in the order in which they came. */
export type Turns = {
  /** Waits for a turn, which `end` gives back; throws the signal's reason. */
  take(onPlace: (place: QueuePlace) => void, signal?: AbortSignal): Promise<{ end: () => void }>
}

type Waiter = { readonly go: () => void; readonly tell: (place: number, waiting: number) => void }

/** Makes turns for so many at once: nothing is paid for what still waits here. */
export function createTurns(atOnce: number): Turns {
  let running = 0
  const waiting: Waiter[] = []
  const tellAll = () => {
    for (const [index, { tell }] of waiting.entries()) tell(index + 1, waiting.length)
  }
  const end = () => {
    // The next one takes this turn over.
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
