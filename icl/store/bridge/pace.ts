/** Lets saves go on while others are replayed, but half as fast at most: or the replay would never end. */
export type Pace = {
  /** Waits for this save's turn. */
  take(): Promise<void>
  /** Says that more saves were replayed. */
  step(saves: number): void
  /** Lets everybody go. */
  end(): void
}

const share = 0.5
const mostSaved = 8

/** Makes a pace; nobody waits once it has ended. */
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
