/** Limits new saves during a replay to half the speed of the replay, so that the replay ends. */
export type Pace = {
  /** Waits for this save's turn. */
  take(): Promise<void>
  /** Reports that more saves were replayed. */
  step(saves: number): void
  /** Releases every waiting save, now and later. */
  end(): void
}

const share = 0.5
const mostSaved = 8

/** Makes a pace. At most `mostSaved` unused turns are kept. */
export function createPace(): Pace {
  const waiting: (() => void)[] = []
  let tokens = 0
  let isOver = false
  const letGo = () => {
    while (waiting.length > 0 && (tokens >= 1 || isOver)) {
      tokens--
      waiting.shift()?.()
    }
  }
  return {
    take: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        letGo()
      }),
    step: (saves) => {
      tokens = Math.min(tokens + share * saves, mostSaved)
      letGo()
    },
    end: () => {
      isOver = true
      letGo()
    },
  }
}
