import type { CommandContext } from './context.ts'
import type { FlagSpec, Flags } from './flags.ts'

/** One command: its syntax, its meaning, and its module, which is loaded only when the command runs. */
export type CommandSpec = {
  readonly name: string
  /** The required arguments after the name. `<file>` stands for a value, other texts for themselves. */
  readonly args?: readonly string[]
  readonly summary: string
  readonly flags: readonly FlagSpec[]
  /** Words that complete the first argument. */
  readonly words?: readonly string[]
  /** Loads the function that runs the command. It returns the exit code, undefined for 0. */
  readonly load: () => Promise<
    (flags: Flags, context: CommandContext, args: readonly string[]) => Promise<number | undefined>
  >
}
