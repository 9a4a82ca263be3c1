import type { ParseArgsConfig, parseArgs } from 'node:util'
import { readCommandLine as parseStrictly } from '../lib/host/command-line.ts'
import { fitHelp } from '../lib/host/fit-help.ts'

type Options = NonNullable<ParseArgsConfig['options']>
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values']

/** Ends a command with 2 and one line of what is wrong with its options. */
export function refuseOptions(message: string): never {
  process.stderr.write(`${message} (--help shows the options)\n`)
  process.exit(2)
}

/** Reads the options of a command. `--help` prints `usage` and ends the process with 0, a mistake ends it with 2. */
export function readCommandLine<const T extends Options>(usage: string, options: T): Values<T> {
  const all: Options = { ...options, help: { type: 'boolean', short: 'h' } }
  const { values } = parseStrictly({ options: all }, refuseOptions)
  if (values.help !== true) return values as Values<T>
  process.stdout.write(fitHelp(usage))
  process.exit(0)
}

/** The whole number that an option has, at least `least`. Another text ends the process with 2. */
export function wholeNumber(option: string, text: string, least = 1): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number
  return refuseOptions(`--${option} takes a whole number from ${least} on, not ${text}`)
}
