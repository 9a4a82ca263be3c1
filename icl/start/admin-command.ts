import type { parseArgs } from 'node:util'
import { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { recordCommand } from '../admin/audit.ts'
import type { AdminContext } from '../admin/context.ts'

/** The flags of all commands, for `parseArgs`. */
export const adminOptions = {
  json: { type: 'boolean' },
  help: { type: 'boolean' },
  reason: { type: 'string' },
  ek: { type: 'string' },
  ak: { type: 'string' },
  jti: { type: 'string' },
  merge: { type: 'boolean' },
  yes: { type: 'boolean' },
  days: { type: 'string' },
  limit: { type: 'string' },
} as const

/** The flags of a command line. */
export type AdminFlags = ReturnType<typeof parseArgs<{ options: typeof adminOptions }>>['values']

/** The result of a command: data for programs, lines for people. */
export type Outcome = { readonly json: unknown; readonly lines: readonly string[] }

/** The environment of a command, and where it prints. */
export type AdminTerminal = {
  readonly environment: Readonly<Record<string, string | undefined>>
  print(line: string): void
  complain(line: string): void
}

type Work = (context: AdminContext) => Promise<Outcome>

/** One of the operator's commands. */
export type AdminCommand = {
  /** Its name, its arguments (`<needed>` or `[optional]`), and its flags besides --json and --help. */
  readonly usage: string
  readonly summary: string
  /** True when no ICL may use the database at the same time. */
  readonly alone?: boolean
  /** True when it works on the database itself, also where a file is that it follows. */
  readonly onDatabase?: boolean
} & (
  | {
      /** Checks the command line, and the file that it names, before the database is opened or made. Throws SvcError `usage`. */
      prepare(given: readonly string[], flags: AdminFlags): Work | Promise<Work>
    }
  | {
      /** Runs without an open database, prints by itself, and returns the exit code. */
      examine(flags: AdminFlags, terminal: AdminTerminal): Promise<number>
    }
)

/** The error for a wrong command line. */
export const usageError = (message: string): SvcError =>
  new SvcError('usage', message, { hint: '`npm run icl -- admin --help` lists the commands.' })

/** Parses an argument or flag by a schema. Throws SvcError `usage`. */
export function typedAs<T>(schema: z.ZodType<T>, text: string | undefined, what: string): T {
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  if (text === undefined) throw usageError(`${what} is missing`)
  throw usageError(`${what} cannot be ${JSON.stringify(text)}`)
}

/** A schema for whole numbers from `min` to 1,000,000, as typed. */
export const Whole = (min: number) => z.coerce.number().pipe(z.int().min(min).max(1_000_000))

/** Records a command with its full text, then runs it. */
export async function recorded(
  context: AdminContext,
  command: string,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  await recordCommand(context, command)
  return work()
}

/** An outcome with a single line. */
export const done = (line: string, json: object): Outcome => ({ json, lines: [line] })

/** The error for a record that does not exist. */
export const nothingThere = (message: string, hint: string): SvcError =>
  new SvcError('not-found', message, { hint })
