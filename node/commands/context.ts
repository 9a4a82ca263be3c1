import type { Clock } from '../../lib/clock.ts'
import type { Terminal } from '../../lib/host/password.ts'
import type { Lines } from '../../lib/host/program/run-program.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { Random } from '../../lib/random.ts'
import { type Environment, trimmed } from '../environment.ts'

/** The process as every command sees it. */
export type CommandContext = Lines & {
  readonly environment: Environment
  readonly terminal: Terminal
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  /** Whether standard output is a terminal. */
  readonly isWatched?: boolean
}

/** Makes the context of a command in this process. */
export async function contextHere(lines: Lines): Promise<CommandContext> {
  const { systemClock, systemRandom } = await import('../../lib/system.ts')
  const { systemFetch } = await import('../../lib/system-fetch.ts')
  return {
    ...lines,
    environment: trimmed(process.env),
    terminal: { input: process.stdin, output: process.stderr },
    fetch: systemFetch,
    clock: systemClock,
    random: systemRandom,
    isWatched: process.stdout.isTTY === true,
  }
}

/** The options that keep a command from asking. */
export type Unasked = { readonly yes?: boolean; readonly json?: boolean }

/** Makes a function that prints warnings to standard error. */
export const warnOf =
  ({ warn }: Pick<CommandContext, 'warn'>) =>
  (text: string): void =>
    warn(`warning: ${text}`)

/** Whether a closed terminal ends the command: it has one. Without one, SIGHUP comes from a rotator of logs. */
export const endsAtHangup = ({
  terminal: { input, output },
  isWatched,
}: Pick<CommandContext, 'isWatched'> & {
  readonly terminal: Readonly<Record<'input' | 'output', { readonly isTTY?: boolean }>>
}): boolean => input.isTTY === true || output.isTTY === true || isWatched === true

/** Whether the command may ask the operator. */
export const isInteractive = (
  { terminal }: Pick<CommandContext, 'terminal'>,
  { yes = false, json = false }: Unasked = {},
): boolean => terminal.input.isTTY === true && terminal.output.isTTY === true && !yes && !json
