import { type ParseArgsConfig, parseArgs } from 'node:util'
import { z } from 'zod'
import { errorMessage } from '../error-message.ts'
import { nearestName } from './nearest.ts'

/** Reads a command line as `parseArgs` does; throws what `wrong` makes of a mistake. */
export function readCommandLine<Config extends ParseArgsConfig>(
  config: Config,
  wrong: (mistake: string) => Error,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw wrong(optionMistake(error, Object.keys(config.options ?? {})))
  }
}

type Options = NonNullable<ParseArgsConfig['options']>
/** A letter for an option, by its name. */
type Letters = Readonly<Record<string, string>>

/** The options of a command line by their schema, and --help: those that take true are switches, those that take a list may be repeated. */
export function optionsOf(schema: z.ZodObject, letters: Letters = {}): Options {
  const options = Object.entries(schema.shape).map(([name, field]) => [
    name,
    {
      type: z.safeParse(field, true).success ? 'boolean' : 'string',
      multiple: z.safeParse(field, []).success,
      ...(letters[name] && { short: letters[name] }),
    } as const,
  ])
  return { ...Object.fromEntries(options), help: { type: 'boolean', short: 'h' } }
}

/** Reads a command line by the schema of its options; undefined when help is asked for; throws what `wrong` makes of its mistakes. */
export function readOptions<Schema extends z.ZodObject>(
  args: readonly string[],
  schema: Schema,
  wrong: (mistakes: string) => Error,
): z.output<Schema> | undefined {
  const { help, ...given } = readCommandLine(
    { args: [...args], options: optionsOf(schema) },
    wrong,
  ).values
  if (help) return undefined
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw wrong(mistakesIn(parsed.error).join('; '))
}

/** What is wrong with options, each once. */
export const mistakesIn = ({ issues }: z.ZodError): readonly string[] => [
  ...new Set(issues.map(({ path, message }) => `--${String(path[0])} ${message}`)),
]

/** The text of a whole number. */
export function WholeNumber(min: number, max: number) {
  const error = `takes a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,15}$/, error)
    .transform(Number)
    .pipe(z.int().min(min, error).max(max, error))
}

/** One of some words. */
export const OneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, { error: ({ input }) => `takes ${words.join(', ')}, not ${String(input)}` })

/** What `parseArgs` says of a wrong command line, in one line; for an unknown option the one that was probably meant. */
function optionMistake(error: unknown, options: readonly string[]): string {
  const said = errorMessage(error).split('\n')[0] ?? ''
  const [, typed] = /^Unknown option '(--?[^']+)'/.exec(said) ?? []
  if (typed === undefined) return said
  const near = nearestName(
    typed,
    options.map((name) => `--${name}`),
  )
  return `There is no option ${typed}${near === undefined ? '' : `. Did you mean ${near}?`}`
}
