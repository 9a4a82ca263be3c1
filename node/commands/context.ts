import type { Fetch } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Terminal } from '../../lib/host/password.ts'
import type { Random } from '../../lib/random.ts'
import type { Environment } from '../environment.ts'

/** What every command gets from the process. */
export type CommandContext = {
  readonly environment: Environment
  readonly terminal: Terminal
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  /** Prints one line to standard output. */
  readonly print: (line: string) => void
  /** Standard output is a terminal. */
  readonly isWatched?: boolean
  /** Prints one line to standard error. */
  readonly warn: (line: string) => void
}

/** Tells what nothing fails for on standard error. */
export const warnOf =
  ({ warn }: Pick<CommandContext, 'warn'>) =>
  (text: string): void =>
    warn(`warning: ${text}`)

/** Whether a user is there to be asked, and wants to be. */
export const isInteractive = (
  { terminal }: Pick<CommandContext, 'terminal'>,
  flags: { readonly yes?: boolean; readonly json?: boolean } = {},
): boolean =>
  terminal.input.isTTY === true &&
  terminal.output.isTTY === true &&
  flags.yes !== true &&
  flags.json !== true
