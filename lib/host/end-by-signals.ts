/** The exit codes of a program that a signal has ended. */
export const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Ends a program at a signal that nothing else listens for. That is usual, except for the first process of a container: the system keeps
 * from it each signal that it does not listen for.
 */
export function endBySignals(): void {
  if (process.pid !== 1) return
  for (const [name, code] of Object.entries(signalExitCodes)) {
    if (name === 'SIGHUP' && isHangupIgnored()) continue
    process.on(name, () => {
      if (process.listenerCount(name) === 1) process.exit(code)
    })
  }
}

/** True when this process ignores SIGHUP. Only Linux shows that. Loads node:fs when asked: it would double the time of `--version`. */
export function isHangupIgnored(): boolean {
  try {
    const status = process.getBuiltinModule('node:fs').readFileSync('/proc/self/status', 'utf8')
    const [, mask] = /^SigIgn:\s*([0-9a-fA-F]+)$/m.exec(status) ?? []
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}
