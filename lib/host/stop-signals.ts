import { SvcError } from '../svc-error.ts'
import { isHangupIgnored, signalExitCodes } from './end-by-signals.ts'

/** What signals ask of a service: `stop` at the first SIGINT, SIGTERM or SIGHUP, `abandon` at the second SIGINT or SIGTERM (spec 3.2). */
export type StopSignals = {
  readonly stop: AbortSignal
  readonly abandon: AbortSignal
  /** Gives the signals back to the runtime. */
  readonly release: () => void
}

const asked = ['SIGINT', 'SIGTERM'] as const

/**
 * Listens for SIGINT, SIGTERM and SIGHUP (unless ignored, as under nohup). With `endsAtThird`, a third request ends the process at once.
 * Without `endsAtHangup`, SIGHUP is only told: rotators of logs send it to services. `onSignal` hears of each signal.
 */
export function listenForStop({
  endsAtThird = false,
  endsAtHangup = true,
  onSignal: tell = (_: NodeJS.Signals): void => {},
} = {}): StopSignals {
  const stop = new AbortController()
  const abandon = new AbortController()
  const releaseAsked = () => {
    for (const name of asked) process.off(name, onSignal)
  }
  let count = 0
  const onSignal = (name: NodeJS.Signals) => {
    tell(name)
    count += 1
    stop.abort()
    if (count < 2) return
    abandon.abort()
    if (endsAtThird) releaseAsked()
  }
  // A closed terminal makes the system, the shell and parent programs all send SIGHUP, so repeats do not ask for haste.
  const onHangup = (name: NodeJS.Signals) => {
    tell(name)
    if (endsAtHangup) stop.abort()
  }
  for (const name of asked) process.on(name, onSignal)
  if (!isHangupIgnored()) process.on('SIGHUP', onHangup)
  const release = () => {
    releaseAsked()
    process.off('SIGHUP', onHangup)
  }
  return { stop: stop.signal, abandon: abandon.signal, release }
}

/** A command was stopped from outside; has its exit code for that. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(why: string, exitCode: number) {
    super(`Stopped by ${why}`)
    this.exitCode = exitCode
  }
}

// One Ctrl-C may arrive several times: from the terminal, and from parent programs that pass it on.
const sameSignalMs = 3_000
const brokenPipe = 141

type Told = { on(event: string, listener: (error: unknown) => void): unknown }

/** Returns the error of a command whose output cannot be written: its reader has gone, or the disk is full. */
export function outputFailure(error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EPIPE') return new Interrupted('the end of its output', brokenPipe)
  const why = error instanceof Error ? error.message : String(error)
  return new SvcError('output-unwritable', `the output cannot be written: ${why}`, {
    hint: 'Check the free space of the disk that the output goes to.',
  })
}

/**
 * Returns a signal that aborts with Interrupted at the first signal that asks a command to end, or when the reader of one of its `outputs`
 * has gone; with SvcError `output-unwritable` when an output fails otherwise. A later signal ends the process, unless `finishes`, with
 * which the command always ends in order.
 */
export function stopSignal({
  outputs = [],
  finishes = false,
  host = process,
  now = () => performance.now(),
}: {
  readonly outputs?: readonly Told[]
  readonly finishes?: boolean
  readonly host?: Told & { exit(code: number): void }
  readonly now?: () => number
} = {}): AbortSignal {
  const stop = new AbortController()
  let firstAt = Number.NEGATIVE_INFINITY
  for (const [signal, code] of Object.entries(signalExitCodes)) {
    host.on(signal, () => {
      if (!stop.signal.aborted) {
        firstAt = now()
        stop.abort(new Interrupted(signal, code))
      } else if (!finishes && now() - firstAt > sameSignalMs) host.exit(code)
    })
  }
  for (const output of outputs) {
    output.on('error', (error) => {
      if (!stop.signal.aborted) stop.abort(outputFailure(error))
    })
  }
  return stop.signal
}
