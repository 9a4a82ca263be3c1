import type { CommandContext } from './context.ts'
import type { FlagSpec, Flags } from './flags.ts'

/** One command: how it is typed, what it does, and the module behind it, which is loaded only when it runs. */
export type CommandSpec = {
  readonly name: string
  /** What follows the name, as `<file>`; texts that have to be there. */
  readonly args?: readonly string[]
  readonly summary: string
  readonly flags: readonly FlagSpec[]
  /** Words that complete the first argument. */
  readonly words?: readonly string[]
  /** Runs it; returns its exit code, 0 when there is none. */
  readonly start: (
    flags: Flags,
    context: CommandContext,
    args: readonly string[],
  ) => Promise<number | undefined>
}
