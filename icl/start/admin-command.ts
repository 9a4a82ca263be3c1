import { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { recordCommand } from '../admin/audit.ts'
import type { AdminContext } from '../admin/context.ts'

/** The flags as they were typed. */
export type AdminFlags = {
  readonly json?: boolean | undefined
  readonly help?: boolean | undefined
  readonly reason?: string | undefined
  readonly ek?: string | undefined
  readonly ak?: string | undefined
  readonly jti?: string | undefined
  readonly merge?: boolean | undefined
  readonly yes?: boolean | undefined
  readonly days?: string | undefined
  readonly limit?: string | undefined
}

/** What a command answers: data for programs, lines for people. */
export type Outcome = { readonly json: unknown; readonly lines: readonly string[] }

/** What the commands are typed in and answer to. */
export type AdminTerminal = {
  readonly environment: Readonly<Record<string, string | undefined>>
  print(line: string): void
  complain(line: string): void
}

/** One of the operator's commands. */
export type AdminCommand = {
  readonly name: string
  /** What follows the name: `<needed>` or `[optional]`. */
  readonly args: readonly string[]
  /** The flags it takes besides --json and --help, as `--reason TEXT`, or in brackets when it can do without. */
  readonly flags: readonly string[]
  readonly summary: string
  /** True when no ICL may use the database meanwhile. */
  readonly alone?: boolean
} & (
  | {
      /** Checks what was typed, before the database is opened; throws SvcError `usage`. */
      prepare(
        given: readonly string[],
        flags: AdminFlags,
      ): (context: AdminContext) => Promise<Outcome>
    }
  | {
      /** Works without a database that is open, prints by itself, and returns the exit code. */
      examine(flags: AdminFlags, terminal: AdminTerminal): Promise<number>
    }
)

/** A wrong command line. */
export const usageError = (message: string): SvcError =>
  new SvcError('usage', message, { hint: '`npm run icl -- admin --help` lists the commands.' })

/** An argument or flag that has to fit a schema; throws SvcError `usage`. */
export function typedAs<T>(schema: z.ZodType<T>, text: string | undefined, what: string): T {
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  if (text === undefined) throw usageError(`${what} is missing`)
  throw usageError(`${what} cannot be ${JSON.stringify(text)}`)
}

/** A whole number of at least `min`, as it is typed. */
export const Whole = (min: number) => z.coerce.number().pipe(z.int().min(min).max(1_000_000))

/** Records a command under its full text, then does it. */
export async function recorded(
  context: AdminContext,
  command: string,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  await recordCommand(context, command)
  return work()
}

/** An outcome of one sentence. */
export const done = (line: string, json: object): Outcome => ({ json, lines: [line] })

/** What the command was about is not there. */
export const nothingThere = (message: string, hint: string): SvcError =>
  new SvcError('not-found', message, { hint })
