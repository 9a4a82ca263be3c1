import { type ParseArgsConfig, parseArgs } from 'node:util'
import { z } from 'zod'
import { errorMessage } from '../error-message.ts'
import { nearestName } from './nearest.ts'

/** Reads a command line as `parseArgs` does. Throws `wrong(mistake)`. */
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
/** One-letter options, by the option's name. */
type Letters = Readonly<Record<string, string>>

/** Returns a schema's options for `parseArgs`, and --help. Fields that take true are switches, fields that take a list may be repeated. */
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

/** Reads a command line by the schema of its options; undefined when help is asked for. Throws `wrong(mistakes)`. */
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

/** Lists the mistakes of options, each once. */
export const mistakesIn = ({ issues }: z.ZodError): readonly string[] => [
  ...new Set(issues.map(({ path, message }) => `--${String(path[0])} ${message}`)),
]

/** A whole number as text. */
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

/** Shortens `parseArgs`' message to one line. For an unknown option it suggests the nearest one. */
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
