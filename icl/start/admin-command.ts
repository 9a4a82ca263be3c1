import { hostname, userInfo } from 'node:os'
import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { json, option, WholeNumber } from '../../lib/host/program/option.ts'
import { type Command, command } from '../../lib/host/program/program.ts'
import type { Lines } from '../../lib/host/program/run-program.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { recordCommand } from '../admin/audit.ts'
import type { AdminContext } from '../admin/context.ts'
import type { Store } from '../store/store.ts'
import type { Log, LogFields } from '../telemetry/log.ts'
import { openStore, recordsUrlOf } from './open-store.ts'
import { Settings, setIn } from './settings.ts'

/** The result of a command: data for programs, lines for people. */
export type Outcome = { readonly json: unknown; readonly lines: readonly string[] }

/** The environment of a command, and where it prints. */
export type AdminTerminal = Lines & {
  readonly environment: Readonly<Record<string, string | undefined>>
}

type Work = (context: AdminContext) => Promise<Outcome>

type Place = {
  /** True when no ICL may use the database at the same time. */
  readonly isAlone?: boolean
  /** True when it works on the database itself, also where a file is that it follows. */
  readonly isOnDatabase?: boolean
}

type Empty = Record<never, never>

/** The argument of a command about a node or client. */
export const address = option(Address, 'ADDRESS')

/** A whole number above zero, as typed. */
export const Count = WholeNumber(1, 1_000_000)

/** Declares a command on the store. */
export const storeCommand = <
  Args extends z.ZodRawShape = Empty,
  Options extends z.ZodRawShape = Empty,
>({
  args,
  options,
  prepare,
  isAlone = false,
  isOnDatabase = false,
  ...spec
}: Pick<Command<AdminTerminal>, 'name' | 'summary' | 'notes'> &
  Place & {
    readonly args?: Args
    /** Those besides --json. */
    readonly options?: Options
    /** Checks what the command line names, such as a file, before the store is opened or made. */
    readonly prepare: (
      given: z.output<z.ZodObject<Args>> & z.output<z.ZodObject<Options>>,
    ) => Work | Promise<Work>
  }): Command<AdminTerminal> =>
  command({
    ...spec,
    args: z.object(args ?? {}),
    options: z.object({ ...options, json }),
    run: async (given, terminal) => {
      const work = await prepare(given as never)
      const outcome = await workOnStore(work, { isAlone, isOnDatabase }, terminal)
      const lines = given.json ? JSON.stringify(outcome.json, null, 2).split('\n') : outcome.lines
      for (const line of lines) terminal.print(line)
    },
  })

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

async function workOnStore(
  work: Work,
  { isAlone, isOnDatabase }: Required<Place>,
  terminal: AdminTerminal,
): Promise<Outcome> {
  const url = databaseUrlOf(terminal, isOnDatabase)
  const store = await openStore(url, { guest: !isAlone, log: logTo(terminal) })
  const operator = operatorOf(terminal)
  try {
    return await work({ store, clock: systemClock, random: systemRandom, operator })
  } catch (error) {
    throw error instanceof ProblemError ? storeFailure(error, store) : error
  } finally {
    await store.close()
  }
}

function storeFailure({ message, retryable }: ProblemError, store: Store): SvcError {
  const { writable, reasons } = store.status()
  // The state of the store has the remedy of what does not pass by itself.
  const lasting = writable ? '' : reasons.join('; ')
  return new SvcError('store-unavailable', message, {
    hint: lasting || 'Try again in a moment.',
    retryable: retryable && lasting === '',
  })
}

/** Prints the store's log lines as notes next to the command's output. */
function logTo({ warn }: AdminTerminal): Log {
  const say = (message: string, fields: LogFields = {}) =>
    warn(`note: ${message} ${JSON.stringify(fields)}`)
  return { debug: () => {}, info: say, warn: say, error: say }
}

const storeSettings = Settings.pick({
  SVC_ICL_DATABASE_URL: true,
  SVC_ICL_REPLICAS: true,
  SVC_ICL_LOCAL_COPY: true,
})

function databaseUrlOf({ environment }: AdminTerminal, isOnDatabase: boolean): string {
  const parsed = storeSettings.safeParse(setIn(environment))
  if (parsed.success && parsed.data.SVC_ICL_DATABASE_URL !== 'memory:') {
    return isOnDatabase ? parsed.data.SVC_ICL_DATABASE_URL : recordsUrlOf(parsed.data)
  }
  throw new SvcError('settings-invalid', 'SVC_ICL_DATABASE_URL does not name a database', {
    hint: 'Set it as it is for the ICL: sqlite:FILE or mongodb://... An ICL in memory cannot be administered.',
  })
}

function operatorOf({ environment }: AdminTerminal): string {
  const name = userName()
  const asked = environment.SUDO_USER
  return `${asked && asked !== name ? `${asked} as ` : ''}${name}@${hostname()}`
}

function userName(): string {
  const number = `uid ${process.getuid?.() ?? 'unknown'}`
  try {
    const { username } = userInfo()
    // Bun returns this when USER is not set, as under cron or in a container.
    return username === 'unknown' ? number : username
  } catch {
    // A container may run as a user without a name.
    return number
  }
}
