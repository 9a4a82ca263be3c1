// Problem: one table of commands has to serve parsing, help, completion and exit codes of every program, and each value has to reach its
// schema as the user typed it.
// Idea: cac finds the command and splits the options. It turns digits into numbers, takes a value that begins with a dash for an option,
// and gives switches a value. So words and values are marked before it sees them, and the mark is removed afterwards.
// Invariants: a value is the text that was typed. An option that the command does not declare is an error, never ignored.
import { cac } from 'cac'
import { z } from 'zod'
import { SvcError } from '../../svc-error.ts'
import { nearestName } from '../nearest.ts'
import { type Field, fieldsOf } from './option.ts'

/** One command of a program whose commands run in a `Context`. */
export type Command<Context> = {
  /** One or two words; empty for the only command of a program. */
  readonly name: string
  readonly summary: string
  readonly args?: z.ZodObject | undefined
  readonly options?: z.ZodObject | undefined
  /** More paragraphs of its help. */
  readonly notes?: string | undefined
  /** Runs it with its arguments and options; returns the exit code, undefined for 0. */
  readonly run: (given: never, context: Context) => Promise<number | undefined>
}

type Output<Schema> = Schema extends z.ZodObject ? z.output<Schema> : object

/** A command as it is declared. `run` gets the arguments and options in one object, by their keys in the schemas. */
export type Declared<Context, Args, Options> = Omit<
  Command<Context>,
  'args' | 'options' | 'run'
> & {
  readonly args?: Args
  readonly options?: Options
  readonly run: (
    given: Output<Args> & Output<Options>,
    context: Context,
  ) => Promise<number | undefined>
}

/** Declares a command. */
export const command = <
  Context,
  Args extends z.ZodObject | undefined = undefined,
  Options extends z.ZodObject | undefined = undefined,
>(
  declared: Declared<Context, Args, Options>,
): Command<Context> => declared

/** A program: its commands, and what its help says of all of them. */
export type Program<Context> = {
  /** How the user types it, such as `svc-node` or `npm run infer --`. */
  readonly typed: string
  /** The words that complete it in a shell, if a shell can complete it. */
  readonly shellWords?: readonly [string, ...string[]]
  /** Paragraphs before the options, and after them. */
  readonly about?: string | undefined
  readonly notes?: string | undefined
  readonly commands: readonly Command<Context>[]
  /** Shows a failure as JSON where --json is given; its code, message and hint when left out. */
  readonly jsonFailure?: (error: unknown) => unknown
}

/** The request of a command line. */
export type Asked<Context> =
  | { readonly help: Command<Context> | undefined }
  | { readonly version: true }
  | { readonly run: (context: Context) => Promise<number | undefined> }

/** The error for a wrong command line. */
export const usageError = (message: string, hint: string): SvcError =>
  new SvcError('usage', message, { hint })

// No argument of a process can contain it.
const mark = '\0'
const unmarked = (text: unknown): string => String(text).replace(/^\0/, '')

/** Reads a command line. Throws SvcError `usage` that names every mistake. */
export function readCommandLine<Context>(
  program: Program<Context>,
  args: readonly string[],
): Asked<Context> {
  const { commands } = program
  const { words, options, rest } = marked(commands, args)
  const cli = cac(program.typed)
  cli.option('-h, --help', '').option('-v, --version', '')
  const declared = commands.map((one) => declare(cli, one))
  const known = options.filter(({ isKnown }) => isKnown).map(({ token }) => token)
  cli.parse(['', '', ...words, ...known, ...rest], { run: false })
  const typed = [...cli.args, ...cli.options['--']].map(unmarked)
  const found = cli.matchedCommand && commands[declared.indexOf(cli.matchedCommand)]
  const begun = commands.filter(({ name }) => name.startsWith(`${typed[0]} `))
  if (cli.options.help === true) return { help: found ?? (begun.length > 1 ? undefined : begun[0]) }
  if (cli.options.version === true) return { version: true }
  if (found === undefined) throw noCommand(program, typed, begun.length > 0)
  const see = `See \`${[program.typed, found.name].filter(Boolean).join(' ')} --help\`.`
  checkNames(optionFields(found), options, see)
  const given = { ...argumentsOf(found, typed, see), ...optionsOf(found, cli.options, see) }
  const parsed = parse(found, given, see)
  return { run: (context) => found.run(parsed as never, context) }
}

const optionFields = ({ options }: Command<never>): readonly Field[] => fieldsOf(options)

function declare(cli: ReturnType<typeof cac>, one: Command<never>) {
  const declared = cli.command(one.name)
  if (one.name !== '') declared.alias(mark + one.name)
  for (const { name, letter, isSwitch } of optionFields(one)) {
    declared.option(`${letter ? `-${letter}, ` : ''}${name}${isSwitch ? '' : ' <value>'}`, '')
  }
  return declared
}

/** An option as typed, with its value after `=` and the mark. */
type Typed = { readonly token: string; readonly name: string; readonly isKnown: boolean }

const namesOf = (fields: readonly Field[]): readonly string[] =>
  fields.flatMap(({ name, letter }) => (letter === undefined ? [name] : [name, `-${letter}`]))

/** Marks words, joins names of two words, and joins each value to its option. */
function marked(commands: readonly Command<never>[], args: readonly string[]) {
  const fields = commands.flatMap(optionFields)
  const names = new Set([...namesOf(fields), '--help', '-h', '--version', '-v', '--'])
  const valued = new Set(namesOf(fields.filter(({ isSwitch }) => !isSwitch)))
  const dashed = commands.flatMap(({ args }) => fieldsOf(args)).filter(({ isDashed }) => isDashed)
  const isWord = (text: string) =>
    !text.startsWith('-') ||
    text === '-' ||
    (!names.has(text) && dashed.some(({ schema }) => z.safeParse(schema, text).success))
  const words: string[] = []
  const options: Typed[] = []
  let at = 0
  for (; at < args.length && args[at] !== '--'; at += 1) {
    const text = args[at] ?? ''
    const [name = '', ...values] = text.split('=')
    const next = args[at + 1]
    if (isWord(text)) words.push(text)
    else if (valued.has(text) && next !== undefined && !names.has(next)) {
      options.push({ token: `${text}=${mark}${next}`, name, isKnown: true })
      at += 1
    } else {
      const value = values.length > 0 ? `=${mark}${values.join('=')}` : ''
      options.push({ token: name + value, name, isKnown: names.has(name) })
    }
  }
  const pair = words.slice(0, 2).join(' ')
  if (words.length > 1 && commands.some(({ name }) => name === pair)) words.splice(0, 2, pair)
  return { words: words.map((word) => mark + word), options, rest: args.slice(at) }
}

function noCommand(
  { typed: program, commands }: Program<never>,
  [first, second]: readonly string[],
  isBegun: boolean,
): SvcError {
  const see = `See \`${program} --help\`.`
  if (first === undefined) return usageError('no command given', see)
  const names = commands.map(({ name }) => name)
  // Names have one or two words, and either may be meant.
  const near = nearestName([first, second].join(' ').trim(), names) ?? nearestName(first, names)
  const hint =
    near === undefined ? see : `Did you mean \`${program} ${near}\`? Else s${see.slice(1)}`
  const shown = isBegun && second !== undefined ? `${first} ${second}` : first
  return usageError(`there is no command ${shown}`, hint)
}

function argumentsOf(
  { args }: Command<never>,
  typed: readonly string[],
  see: string,
): Readonly<Record<string, unknown>> {
  const fields = fieldsOf(args)
  if (typed.length > fields.length && !fields.at(-1)?.isList) {
    throw usageError(`${typed[fields.length]} is one argument too many`, see)
  }
  return Object.fromEntries(
    fields
      .slice(0, typed.length)
      .map(({ key, isList }, at) => [key, isList ? typed.slice(at) : typed[at]]),
  )
}

/** Returns the options as typed. Throws SvcError `usage` for repeated ones, and for missing values. */
function optionsOf(
  found: Command<never>,
  parsed: Readonly<Record<string, unknown>>,
  see: string,
): Readonly<Record<string, unknown>> {
  const given = optionFields(found).filter(({ key }) => parsed[key] !== undefined)
  return Object.fromEntries(
    given.map(({ key, name, value, isSwitch, isList }) => {
      if (isSwitch) return [key, true]
      const values = [parsed[key]].flat()
      if (values.some((one) => typeof one !== 'string')) {
        throw usageError(`${name} needs a value: ${name} ${value}`, see)
      }
      if (values.length > 1 && !isList) throw usageError(`${name} is given more than once`, see)
      return [key, isList ? values.map(unmarked) : unmarked(values[0])]
    }),
  )
}

function checkNames(fields: readonly Field[], options: readonly Typed[], see: string): void {
  for (const { token, name: typed } of options) {
    const field = fields.find(({ name, letter }) => typed === name || typed === `-${letter}`)
    if (field === undefined) {
      const near = nearestName(
        typed,
        fields.map(({ name }) => name),
      )
      const hint = near === undefined ? see : `Did you mean ${near}? Else s${see.slice(1)}`
      throw usageError(`there is no option ${typed}`, hint)
    }
    if (field.isSwitch && token !== typed) throw usageError(`${typed} takes no value`, see)
  }
}

function parse(
  { args, options }: Command<never>,
  given: Readonly<Record<string, unknown>>,
  see: string,
): object {
  const results = [args, options].flatMap((schema) => (schema ? [schema.safeParse(given)] : []))
  const issues = results.flatMap(({ error }) => error?.issues ?? [])
  if (issues.length === 0) return Object.assign({}, ...results.map(({ data }) => data))
  const labels = new Map([
    ...fieldsOf(args).map(({ key, value }) => [key, value] as const),
    ...fieldsOf(options).map(({ key, name }) => [key, name] as const),
  ])
  const mistakes = issues.map(({ path: [key], message }) => {
    const label = labels.get(String(key))
    if (key === undefined || label === undefined) return message
    if (given[String(key)] === undefined) return `${label} is missing`
    // The schema library's own messages begin with a capital and do not say what was typed.
    if (!/^[A-Z]/.test(message)) return `${label} ${message}`
    const typed = JSON.stringify(given[String(key)])
    return `${label} ${typed.length > 100 ? 'is too long' : `cannot be ${typed}`}`
  })
  throw usageError([...new Set(mistakes)].join('; '), see)
}
