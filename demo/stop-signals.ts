import { Interrupted, stopSignal } from '../lib/host/stop-signals.ts'

const parentPollMs = 500

/** Aborts with the reason when the demo must stop: on a signal, or at the end of its output or its parent process. */
export function demoStopSignal(): AbortSignal {
  const stop = stopSignal({ outputs: [process.stdout, process.stderr], finishes: true })
  if (process.env.SVC_STOP_WITH_PARENT !== '1') return stop
  const orphaned = new AbortController()
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid === parent) return
    orphaned.abort(new Interrupted('the end of the process that started it', 143))
  }, parentPollMs).unref()
  return AbortSignal.any([stop, orphaned.signal])
}
