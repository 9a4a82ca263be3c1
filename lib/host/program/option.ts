// An option or argument of a command is one zod schema. Its metadata names the value and describes it, so that parsing, help and
// completion have one source: the words of an enumeration, the bounds of a number and the default are read from the schema itself.
import { z } from 'zod'

/** How the help shows an option or argument, beyond what its schema says. */
type Shown = {
  /** The value's name, such as FILE; empty for a switch. FILE, PATH and FOLDER are completed with names of files. */
  readonly value: string
  readonly help: string
  /** One letter that stands for the option. */
  readonly letter?: string
  /** Words that complete the value, of a schema that takes others, too. */
  readonly words?: readonly string[]
  /** Whether the help leaves it out. */
  readonly isHidden?: boolean
  /** Whether an argument may begin with a dash, as one id in 64 does. */
  readonly isDashed?: boolean
}

const shown = z.registry<Shown>()

/** Names the value of an option or argument, and describes it for the help. Returns the schema. */
export function option<Schema extends z.ZodType>(
  schema: Schema,
  value: string,
  help = '',
  more: Omit<Shown, 'value' | 'help'> = {},
): Schema {
  const own = schema.clone()
  shown.add(own, { ...more, value, help })
  return own
}

/** An option without a value. */
export const flag = (help: string, more?: Omit<Shown, 'value' | 'help' | 'words'>) =>
  option(z.boolean().default(false), '', help, more)

/** The option of every command that prints for programs. */
export const json = flag('Print JSON')

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

/** Some of some words, separated by commas. */
export const ListOf = <const Word extends string>(words: readonly Word[]) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(OneOf(words)))

/** An option or argument as parser, help and completion see it. */
export type Field = Shown & {
  /** Its key in the schema. */
  readonly key: string
  /** As typed: --max-output-tokens. */
  readonly name: string
  readonly schema: z.core.$ZodType
  readonly isSwitch: boolean
  /** Whether it may be repeated. */
  readonly isList: boolean
  readonly isNeeded: boolean
}

const known = new WeakMap<z.ZodObject, readonly Field[]>()

/** Returns the fields of a command's options or arguments, in their order. */
export function fieldsOf(schema: z.ZodObject | undefined): readonly Field[] {
  if (schema === undefined) return []
  const fields = known.get(schema) ?? Object.entries(schema.shape).map(fieldOf)
  known.set(schema, fields)
  return fields
}

function fieldOf([key, field]: readonly [string, z.core.$ZodType]): Field {
  const { value = key.toUpperCase(), help = '', ...more } = shown.get(field as z.ZodType) ?? {}
  const inner = layersOf(field).find(({ _zod: { def } }) => !('innerType' in def))
  return {
    ...{ key, value, help, ...more, schema: field },
    name: `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    isSwitch: inner instanceof z.ZodBoolean,
    isList: inner instanceof z.ZodArray,
    isNeeded: field._zod.optin === undefined,
  }
}

/** Returns the schemas of which one is made, the outermost first. */
function layersOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'pipe') return [schema, ...layersOf(def.in), ...layersOf(def.out)]
  if (def.type === 'array') return [schema, ...layersOf(def.element)]
  if ('innerType' in def) return [schema, ...layersOf(def.innerType)]
  return [schema]
}

/** Returns the words that an option or argument takes, if it takes few. */
export const wordsOf = ({ schema, words }: Field): readonly string[] | undefined =>
  words ??
  layersOf(schema).flatMap((layer) =>
    layer instanceof z.ZodEnum ? [layer.options.map(String)] : [],
  )[0]

/** Whether names of files complete the value. */
export const takesFile = ({ value }: Field): boolean => /^(FILE|PATH|FOLDER)$/.test(value)

/** Returns the help of a field: its words or bounds, and its default, if the schema has them. */
export function describeField(field: Field): string {
  const layers = layersOf(field.schema)
  const words = field.words === undefined ? wordsOf(field) : undefined
  const range = layers
    .filter((layer) => layer instanceof z.ZodNumber)
    .map(({ minValue, maxValue }) => `${minValue} to ${maxValue}`)[0]
  const initial = layers
    .flatMap((layer) =>
      layer instanceof z.ZodDefault || layer instanceof z.ZodPrefault
        ? [layer.def.defaultValue]
        : [],
    )
    .find((value) => typeof value === 'string' || typeof value === 'number')
  const facts = [
    ...(words ? [words.join(', ')] : []),
    ...(range === undefined ? [] : [range]),
    ...(initial === undefined ? [] : [`default: ${initial}`]),
    ...(field.isList ? ['may be repeated'] : []),
  ].join('; ')
  return [field.help, facts && `(${facts})`].filter(Boolean).join(' ')
}
