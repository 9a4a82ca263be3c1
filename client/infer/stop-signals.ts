import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'

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

type Told = { on(event: string, listener: (error: unknown) => void): unknown }

/** Why a command whose output cannot be written has to stop: nobody reads it any more, or it has no room. */
export function outputFailure(error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EPIPE') return new Interrupted('the end of its output', brokenPipe)
  const why = errorMessage(error)
  return new SvcError('output-unwritable', `the output cannot be written: ${why}`, {
    hint: 'Check the free space of the disk that the output goes to.',
  })
}

/**
 * Aborts with an Interrupted at the first signal that asks this process to end, or when nobody reads one of its `outputs` any
 * more, with SvcError `output-unwritable` when one takes nothing; a signal that comes later ends the process.
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
    output.on('error', (error) => {
      if (!stop.signal.aborted) stop.abort(outputFailure(error))
    })
  }
  return stop.signal
}
