/** Why a command was stopped from outside, and the exit code for it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(why: string, exitCode: number) {
    super(`Stopped by ${why}`)
    this.exitCode = exitCode
  }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

// One Ctrl-C arrives more than once: from the terminal, and from the programs above this one, which pass it on.
const sameSignalMs = 3_000
const brokenPipe = 141

type Told = { on(event: string, listener: () => void): unknown }

/**
 * Aborts with an Interrupted at the first signal that asks this process to end, or when nobody reads one of its `outputs` any
 * more; a signal that comes later ends the process.
 */
export function stopSignal(
  outputs: readonly Told[] = [],
  host: Told & { exit(code: number): void } = process,
  now = () => performance.now(),
): AbortSignal {
  const stop = new AbortController()
  let firstAt = Number.NEGATIVE_INFINITY
  for (const [signal, code] of Object.entries(exitCodes)) {
    host.on(signal, () => {
      if (!stop.signal.aborted) {
        firstAt = now()
        stop.abort(new Interrupted(signal, code))
      } else if (now() - firstAt > sameSignalMs) host.exit(code)
    })
  }
  for (const output of outputs) {
    output.on('error', () => {
      if (!stop.signal.aborted) stop.abort(new Interrupted('the end of its output', brokenPipe))
    })
  }
  return stop.signal
}
