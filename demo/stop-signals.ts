const parentPollMs = 500

/** Why the demo was stopped from outside, and the exit code for it. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly exitCode: number

  constructor(why: string, exitCode: number) {
    super(`Stopped by ${why}`)
    this.exitCode = exitCode
  }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Aborts when this process is told to end, when nobody reads its output any more, or when its parent has gone. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController()
  const end = (why: string, exitCode: number) => {
    if (!stop.signal.aborted) stop.abort(new Stopped(why, exitCode))
  }
  // Listeners stay: a second Ctrl-C must not cut short the stopping of what was started.
  for (const [signal, code] of Object.entries(exitCodes))
    process.on(signal, () => end(signal, code))
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', () => end('the end of its output', 141))
  }
  if (process.env.SVC_STOP_WITH_PARENT === '1') {
    const parent = process.ppid
    setInterval(() => {
      if (process.ppid !== parent) end('the end of the process that started it', 143)
    }, parentPollMs).unref()
  }
  return stop.signal
}
