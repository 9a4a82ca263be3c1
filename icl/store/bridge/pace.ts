/** Limits new saves during a replay to half the speed of the replay, so that the replay ends. */
export type Pace = ReturnType<typeof createPace>

const share = 0.5
const mostSaved = 8

/** Makes a pace. At most `mostSaved` unused turns are kept. */
export function createPace() {
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
    /** Waits for this save's turn. */
    take: (): Promise<void> =>
      new Promise((resolve) => {
        waiting.push(resolve)
        letGo()
      }),
    /** Reports that more saves were replayed. */
    step: (saves: number): void => {
      tokens = Math.min(tokens + share * saves, mostSaved)
      letGo()
    },
    /** Releases every waiting save, now and later. */
    end: (): void => {
      isOver = true
      letGo()
    },
  }
}
