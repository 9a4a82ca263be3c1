/** The exit codes of a program that a signal has ended. */
export const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Ends a program at a signal that nothing else listens for. That is usual, except for the first process of a container: the system keeps
 * from it each signal that it does not listen for.
 */
export function endBySignals(): void {
  if (process.pid !== 1) return
  for (const [name, code] of Object.entries(signalExitCodes)) {
    process.on(name, () => {
      if (process.listenerCount(name) === 1) process.exit(code)
    })
  }
}
