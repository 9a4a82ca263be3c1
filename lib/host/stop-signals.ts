import { readFileSync } from 'node:fs'
import { ignoresHangup } from '../hangup.ts'

/** What the operator asks by signals: `stop` with the first SIGINT, SIGTERM or SIGHUP, `abandon` with the second SIGINT or SIGTERM (spec 3.2). */
export type StopSignals = {
  readonly stop: AbortSignal
  readonly abandon: AbortSignal
  /** Gives the signals back to the runtime. */
  readonly release: () => void
}

const asked = ['SIGINT', 'SIGTERM'] as const

/** Listens for SIGINT, SIGTERM and SIGHUP; from the third on the first two end the process at once, as ever. Where SIGHUP is ignored, as under nohup, it stays so. */
export function listenForStop(): StopSignals {
  const stop = new AbortController()
  const abandon = new AbortController()
  const releaseAsked = () => {
    for (const name of asked) process.off(name, onSignal)
  }
  let count = 0
  const onSignal = () => {
    count += 1
    stop.abort()
    if (count < 2) return
    abandon.abort()
    releaseAsked()
  }
  // The system, the shell and programs above this one all tell of a closed terminal: nobody asks for haste by that.
  const onHangup = () => stop.abort()
  for (const name of asked) process.on(name, onSignal)
  if (!isHangupIgnored()) process.on('SIGHUP', onHangup)
  const release = () => {
    releaseAsked()
    process.off('SIGHUP', onHangup)
  }
  return { stop: stop.signal, abandon: abandon.signal, release }
}

function isHangupIgnored(): boolean {
  try {
    return ignoresHangup(readFileSync('/proc/self/status', 'utf8'))
  } catch {
    // Only Linux tells.
    return false
  }
}
