import { nearestName } from '../../lib/host/nearest.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A flag as in the help (`--models <ids>`, `--force`, or `--rpc <url>...` if it may be repeated), its meaning, and the values that complete it. */
export type FlagSpec = readonly [usage: string, meaning: string, values?: readonly string[]]

type Switch = 'csv' | 'explain' | 'force' | 'json' | 'mock' | 'try' | 'withdraw' | 'yes'
type Value =
  | ('attestationBackend' | 'backend' | 'cofheEndpoint' | 'cofheUrls' | 'iclEndpoint')
  | ('ipfsGateway' | 'models' | 'scryptN' | 'tpm')
  | ('nodeRegistry' | 'stake' | 'tiers')
  | ('cancel' | 'replace')
  | ('file' | 'limit' | 'logFile' | 'logFormat' | 'text')
  | ('gateway' | 'iclKey' | 'promptKeyStore' | 'resultRegistry' | 'with')

/** The flags of all commands, by camelCase name: a text, a list of texts if it may be repeated, or true for a switch. */
export type Flags = { readonly [Name in Value]?: string | undefined } & {
  readonly [Name in Switch]?: boolean | undefined
} & { readonly rpc?: readonly string[] | undefined }

/** The error for a wrong command line. */
export const usageError = (message: string, hint: string): SvcError =>
  new SvcError('usage', message, { hint })

/** Returns `--scrypt-n` of `--scrypt-n <n>`. */
export const flagName = (usage: string): string => usage.split(' ')[0] ?? usage

/** Whether a flag is followed by a value. */
export const takesValue = (usage: string): boolean => usage.includes('<')

/** Whether the flag may be given more than once. */
export const isRepeatable = (usage: string): boolean => usage.endsWith('...')

/** Whether its value is the path of a file. */
export const takesFile = (usage: string): boolean => /<(file|path)>/.test(usage)

const camelCase = (name: string): string =>
  name.replace(/^--/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

const typedName = (name: string): string =>
  name.length === 1 ? `-${name}` : `--${name.replace(/[A-Z]/g, (l) => `-${l.toLowerCase()}`)}`

/** Returns the parsed flags as texts and switches. Throws SvcError `usage` for unknown and repeated flags and missing values. */
export function readFlags(
  parsed: Readonly<Record<string, unknown>>,
  rawArgs: readonly string[],
  specs: readonly FlagSpec[],
  command: string,
): Flags {
  const see = `see \`svc-node ${command} --help\``
  const known = new Map(specs.map(([usage]) => [camelCase(flagName(usage)), usage]))
  const rest = parsed['--']
  if (Array.isArray(rest) && rest.length > 0) throw usageError('nothing may follow `--`', see)
  const entries = Object.entries(parsed).filter(([name]) => name !== '--')
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const usage = known.get(name)
      const typed = typedName(name)
      if (usage === undefined) {
        const near = nearestName(typed, [...known.values()].map(flagName))
        const hint = near === undefined ? see : `did you mean ${near}? Else ${see}`
        throw usageError(`\`svc-node ${command}\` has no flag ${typed}`, hint)
      }
      const isList = isRepeatable(usage)
      if (Array.isArray(value) && !isList) {
        throw usageError(`${typed} is given more than once`, see)
      }
      const values: readonly unknown[] = [value].flat()
      if (takesValue(usage) && values.some((one) => typeof one === 'boolean')) {
        throw usageError(`${typed} needs a value: ${usage}`, see)
      }
      if (isList) return [name, values.map(String)]
      return [name, takesValue(usage) ? textOf(typed, value, rawArgs) : value === true]
    }),
  )
}

/** Returns the value as typed. The parser converts digits to a number, which may lose some. */
function textOf(flag: string, value: unknown, rawArgs: readonly string[]): string {
  const at = rawArgs.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`))
  const arg = rawArgs[at]
  if (arg === undefined) return String(value)
  return arg === flag ? (rawArgs[at + 1] ?? '') : arg.slice(flag.length + 1)
}

/** Returns the arguments as typed. */
export const readArguments = (
  parsed: readonly unknown[],
  rawArgs: readonly string[],
): readonly string[] =>
  parsed.map((value) =>
    typeof value === 'number'
      ? (rawArgs.find((arg) => Number(arg) === value) ?? String(value))
      : String(value),
  )
