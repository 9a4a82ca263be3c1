/** Tells of steps while they run. */
export type Reporter = {
  /** Runs `body` as one step of the story; what it passes to `progress` is news of a slow step. */
  readonly step: <T>(
    label: string,
    body: (progress: (detail: string) => void) => Promise<T>,
  ) => Promise<T>
}

/** Tells nothing. */
export const silentReporter: Reporter = { step: (_, body) => body(() => {}) }
