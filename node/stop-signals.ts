/** What the operator asks by signals: `stop` with the first SIGINT or SIGTERM, `abandon` with the second (spec 3.2). */
export type StopSignals = {
  readonly stop: AbortSignal
  readonly abandon: AbortSignal
  /** Gives the signals back to the runtime. */
  readonly release: () => void
}

/** Listens for SIGINT and SIGTERM; from the third on they end the process at once, as ever. */
export function listenForStop(): StopSignals {
  const stop = new AbortController()
  const abandon = new AbortController()
  const release = () => {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
  const onSignal = () => {
    if (!stop.signal.aborted) return stop.abort()
    abandon.abort()
    release()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return { stop: stop.signal, abandon: abandon.signal, release }
}
