import { hostname, userInfo } from 'node:os'
import { Base64Url32 } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { readCommandLine } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { nearestName } from '../../lib/host/nearest.ts'
import { printable, printableLine } from '../../lib/printable.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import type { AdminContext } from '../admin/context.ts'
import type { Log, LogFields } from '../telemetry/log.ts'
import { clientCommands } from './admin-clients.ts'
import {
  type AdminCommand,
  type AdminFlags,
  type AdminTerminal,
  adminOptions as options,
  usageError,
} from './admin-command.ts'
import { doctorCommand } from './admin-doctor.ts'
import { effectCommands } from './admin-effects.ts'
import { keyCommands } from './admin-keys.ts'
import { nodeCommands } from './admin-nodes.ts'
import { revokeCommands } from './admin-revoke.ts'
import { storeCommands } from './admin-store.ts'
import { openStore, recordsUrlOf } from './open-store.ts'
import { Settings, setIn } from './settings.ts'

const adminCommands: readonly AdminCommand[] = [
  ...nodeCommands,
  ...revokeCommands,
  ...keyCommands,
  ...clientCommands,
  ...effectCommands,
  ...storeCommands,
  doctorCommand,
]

const nameOf = ({ usage }: AdminCommand): string => usage.split(/ (?=[-<[])/, 1)[0] ?? ''
const names = adminCommands.map(nameOf)

/** Runs an admin command. Returns its exit code: 0 done, 1 refused or failed, 2 wrong usage, 75 when doctor says to try again later. */
export async function runAdmin(args: readonly string[], terminal: AdminTerminal): Promise<number> {
  try {
    const { command, given, flags } = parse(args)
    if (flags.help || !command) {
      terminal.print(command ? helpOf(command) : help())
      return flags.help ? 0 : 2
    }
    if ('examine' in command) return await command.examine(flags, terminal)
    const outcome = await perform(command, given, flags, terminal)
    // Made printable, because both contain texts of nodes.
    if (flags.json) terminal.print(printable(JSON.stringify(outcome.json, null, 2)))
    else for (const line of outcome.lines) terminal.print(printableLine(line))
    return 0
  } catch (error) {
    return explain(error, terminal)
  }
}

function parse(args: readonly string[]) {
  // Unlike cac, this parser keeps an address after a switch as text.
  const { values: flags, positionals } = parseStrictly(args)
  const words = names.includes(positionals.slice(0, 2).join(' ')) ? 2 : 1
  const name = positionals.slice(0, words).join(' ')
  const command = adminCommands[names.indexOf(name)]
  if (name !== '' && !command) throw unknownCommand(positionals.slice(0, 2))
  const given = positionals.slice(words)
  if (command && !flags.help) checkUsage(command, given, flags)
  return { command, given, flags }
}

function unknownCommand(typed: readonly string[]): SvcError {
  // Names have one or two words, and either may be meant.
  const near = nearestName(typed.join(' '), names) ?? nearestName(typed[0] ?? '', names)
  return usageError(
    `There is no command ${typed.join(' ')}${near === undefined ? '' : `. Did you mean ${near}?`}`,
  )
}

const parseStrictly = (args: readonly string[]) =>
  readCommandLine({ args: guardIds(args), options, allowPositionals: true }, usageError)

const isOption = (arg: string): boolean => Object.keys(options).some((name) => arg === `--${name}`)
const isDashedKey = (arg: string): boolean =>
  arg.startsWith('-') && Base64Url32.safeParse(arg).success

/** One id in 64 begins with a dash and would be parsed as an option. Joins it to its flag, or moves it behind `--`. */
function guardIds(args: readonly string[]): string[] {
  const at = args.indexOf('--jti')
  const id = args[at + 1]
  const isJoined = at >= 0 && id?.startsWith('-') && !isOption(id)
  const joined = isJoined ? args.toSpliced(at, 2, `--jti=${id}`) : [...args]
  const keys = joined.filter(isDashedKey)
  if (keys.length === 0 || joined.includes('--')) return joined
  return [...joined.filter((arg) => !isDashedKey(arg)), '--', ...keys]
}

function checkUsage(command: AdminCommand, given: readonly string[], flags: AdminFlags): void {
  const name = nameOf(command)
  const args = command.usage.match(/<[^>]+>|\[\w+\]/g) ?? []
  const missing = args[given.length]
  if (missing?.startsWith('<')) throw usageError(`${name} needs ${missing}`)
  if (given.length > args.length) throw usageError(`${name} takes no ${given[args.length]}`)
  const takes = ['--json', ...(command.usage.match(/--[a-z]+/g) ?? [])]
  const unknown = Object.keys(flags).find((flag) => !takes.includes(`--${flag}`))
  if (unknown !== undefined) throw usageError(`${name} has no --${unknown}`)
}

async function perform(
  command: Extract<AdminCommand, { prepare: unknown }>,
  given: readonly string[],
  flags: AdminFlags,
  terminal: AdminTerminal,
) {
  const { environment } = terminal
  const run = await command.prepare(given, flags)
  const store = await openStore(databaseUrlOf(environment, command), {
    guest: command.alone !== true,
    log: logTo(terminal),
  })
  const context: AdminContext = {
    store,
    clock: systemClock,
    random: systemRandom,
    operator: operatorOf(environment),
  }
  try {
    return await run(context)
  } catch (error) {
    const { writable, reasons } = store.status()
    if (!(error instanceof ProblemError) || writable || reasons.length === 0) throw error
    // The state of the store has the remedy of what does not pass by itself.
    throw new SvcError('store-unavailable', error.message, { hint: reasons.join('; ') })
  } finally {
    await store.close()
  }
}

/** Prints the store's log lines as notes next to the command's output. */
function logTo({ complain }: AdminTerminal): Log {
  const say = (message: string, fields: LogFields = {}) =>
    complain(printableLine(`note: ${message} ${JSON.stringify(fields)}`))
  return { debug: () => {}, info: say, warn: say, error: say }
}

const storeSettings = Settings.pick({
  SVC_ICL_DATABASE_URL: true,
  SVC_ICL_REPLICAS: true,
  SVC_ICL_LOCAL_COPY: true,
})

function databaseUrlOf(
  environment: AdminTerminal['environment'],
  { onDatabase = false }: AdminCommand,
): string {
  const parsed = storeSettings.safeParse(setIn(environment))
  if (parsed.success && parsed.data.SVC_ICL_DATABASE_URL !== 'memory:') {
    return onDatabase ? parsed.data.SVC_ICL_DATABASE_URL : recordsUrlOf(parsed.data)
  }
  throw new SvcError('settings-invalid', 'SVC_ICL_DATABASE_URL does not name a database', {
    hint: 'Set it as it is for the ICL: sqlite:FILE or mongodb://... An ICL in memory cannot be administered.',
  })
}

function operatorOf(environment: AdminTerminal['environment']): string {
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

function explain(error: unknown, { complain }: AdminTerminal): number {
  if (error instanceof SvcError) {
    complain(`error: ${printableLine(error.message)}`)
    complain(`hint: ${printableLine(error.hint)}`)
    return error.code === 'usage' ? 2 : 1
  }
  complain(`error: ${printableLine(errorMessage(error))}`)
  if (error instanceof ProblemError && error.retryable) complain('hint: Try again in a moment.')
  return 1
}

function help(): string {
  const width = Math.max(...adminCommands.map(({ usage }) => usage.length))
  return [
    'Usage: npm run icl -- admin COMMAND [--json] [--help]',
    '',
    'Works on the database that SVC_ICL_DATABASE_URL names, or on the file that it follows, while the ICL runs.',
    '',
    ...adminCommands.map(({ usage, summary }) => fitHelp(`  ${usage.padEnd(width)}  ${summary}`)),
    '',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 doctor: try again later.',
  ].join('\n')
}

const helpOf = (command: AdminCommand): string =>
  [
    `Usage: npm run icl -- admin ${command.usage} [--json]`,
    '',
    command.summary,
    ...(command.alone ? ['The ICL has to be stopped.'] : []),
  ].join('\n')
