/** Reports steps while they run. */
export type Reporter = {
  /** Runs `body` as one step. `progress` reports the state of a slow step. */
  readonly step: <T>(
    label: string,
    body: (progress: (detail: string) => void) => Promise<T>,
  ) => Promise<T>
}

/** Reports nothing. */
export const silentReporter: Reporter = { step: (_, body) => body(() => {}) }
