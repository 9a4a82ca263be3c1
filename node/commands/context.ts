import type { Clock } from '../../lib/clock.ts'
import type { Terminal } from '../../lib/host/password.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { Random } from '../../lib/random.ts'
import type { Environment } from '../environment.ts'
import type { Flags } from './flags.ts'

/** The process as every command sees it. */
export type CommandContext = {
  readonly environment: Environment
  readonly terminal: Terminal
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  /** Prints one line to standard output. */
  readonly print: (line: string) => void
  /** Whether standard output is a terminal. */
  readonly isWatched?: boolean
  /** Prints one line to standard error. */
  readonly warn: (line: string) => void
}

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
  flags: Flags = {},
): boolean =>
  terminal.input.isTTY === true &&
  terminal.output.isTTY === true &&
  flags.yes !== true &&
  flags.json !== true
