/** A JSON Schema (2020-12) as the served document has it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Schemas = Readonly<Record<string, JsonSchema>>
type Check = (value: unknown, schema: JsonSchema, context: Context, path: string) => string[]
type Context = { readonly schemas: Schemas }

const prefix = '#/components/schemas/'

/** The schema that a reference names. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  const target = $ref.startsWith(prefix) ? schemas[$ref.slice(prefix.length)] : undefined
  if (!target) throw new TypeError(`the document has no schema ${$ref}`)
  return resolved(target, schemas)
}

/** What of a value does not fit its schema, in words; a property that the schema does not name counts as such. */
export const misfits = (value: unknown, schema: JsonSchema, schemas: Schemas): string[] =>
  check(value, schema, { schemas }, '$')

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const typeNames: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

const compiled = new Map<string, RegExp>()
function regexOf(pattern: string): RegExp {
  const known = compiled.get(pattern) ?? new RegExp(pattern, 'u')
  compiled.set(pattern, known)
  return known
}

const wrong = (path: string, what: string) => [`${path} ${what}`]
const sizeOf = (value: unknown): number | undefined =>
  typeof value === 'string'
    ? [...value].length
    : Array.isArray(value)
      ? value.length
      : isObject(value)
        ? Object.keys(value).length
        : undefined

const limit =
  (
    measure: (value: unknown) => number | undefined,
    fits: (size: number, limit: number) => boolean,
    name: string,
  ): ((value: unknown, limit: unknown, path: string) => string[]) =>
  (value, most, path) => {
    const size = measure(value)
    if (size === undefined || fits(size, Number(most))) return []
    return wrong(path, `breaks ${name} ${String(most)}`)
  }

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)
const atLeast = (size: number, least: number) => size >= least
const atMost = (size: number, most: number) => size <= most

const limits: Readonly<Record<string, ReturnType<typeof limit>>> = {
  minimum: limit(numberOf, atLeast, 'minimum'),
  maximum: limit(numberOf, atMost, 'maximum'),
  exclusiveMinimum: limit(numberOf, (size, least) => size > least, 'exclusiveMinimum'),
  exclusiveMaximum: limit(numberOf, (size, most) => size < most, 'exclusiveMaximum'),
  minLength: limit(
    (value) => (typeof value === 'string' ? sizeOf(value) : undefined),
    atLeast,
    'minLength',
  ),
  maxLength: limit(
    (value) => (typeof value === 'string' ? sizeOf(value) : undefined),
    atMost,
    'maxLength',
  ),
  minItems: limit(
    (value) => (Array.isArray(value) ? value.length : undefined),
    atLeast,
    'minItems',
  ),
  maxItems: limit((value) => (Array.isArray(value) ? value.length : undefined), atMost, 'maxItems'),
}

/** Keywords that say nothing about what is valid, or are looked at with another one. */
const silent: ReadonlySet<string> = new Set([
  'default',
  'description',
  'title',
  'format',
  'required',
  'additionalProperties',
  'prefixItems',
])

const keywords: Readonly<Record<string, Check>> = {
  $ref: (value, schema, context, path) =>
    check(value, resolved(schema, context.schemas), context, path),
  type: (value, { type }, _, path) => {
    const names = (Array.isArray(type) ? type : [type]) as string[]
    return names.some((name) => typeNames[name]?.(value))
      ? []
      : wrong(path, `is no ${names.join(' or ')}`)
  },
  const: (value, schema, _, path) =>
    value === schema.const ? [] : wrong(path, `is not ${String(schema.const)}`),
  enum: (value, schema, _, path) =>
    (schema.enum as unknown[]).includes(value) ? [] : wrong(path, 'is none of the named values'),
  pattern: (value, schema, _, path) =>
    typeof value !== 'string' || regexOf(String(schema.pattern)).test(value)
      ? []
      : wrong(path, `does not fit ${String(schema.pattern)}`),
  anyOf: (value, schema, context, path) => {
    const fits = (schema.anyOf as JsonSchema[]).some(
      (part) => check(value, part, context, path).length === 0,
    )
    return fits ? [] : wrong(path, 'fits none of anyOf')
  },
  oneOf: (value, schema, context, path) => {
    const fitting = (schema.oneOf as JsonSchema[]).filter(
      (part) => check(value, part, context, path).length === 0,
    )
    return fitting.length === 1 ? [] : wrong(path, `fits ${fitting.length} of oneOf`)
  },
  allOf: (value, schema, context, path) =>
    (schema.allOf as JsonSchema[]).flatMap((part) => check(value, part, context, path)),
  properties: (value, schema, context, path) =>
    isObject(value) ? fields(value, schema, context, path) : [],
  propertyNames: (value, schema, context, path) =>
    isObject(value)
      ? Object.keys(value).flatMap((name) =>
          check(name, schema.propertyNames as JsonSchema, context, `${path}.(name)`),
        )
      : [],
  items: (value, schema, context, path) => {
    if (!Array.isArray(value)) return []
    const first = (schema.prefixItems as unknown[] | undefined)?.length ?? 0
    return value
      .slice(first)
      .flatMap((item, index) =>
        check(item, schema.items as JsonSchema, context, `${path}[${first + index}]`),
      )
  },
}

function fields(
  value: Record<string, unknown>,
  { properties, required, additionalProperties }: JsonSchema,
  context: Context,
  path: string,
): string[] {
  const known = (properties ?? {}) as Record<string, JsonSchema>
  const missing = ((required ?? []) as string[]).filter((name) => !Object.hasOwn(value, name))
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, field]) => {
      if (Object.hasOwn(known, name)) return check(field, known[name]!, context, `${path}.${name}`)
      if (isObject(additionalProperties)) {
        return check(field, additionalProperties, context, `${path}.${name}`)
      }
      return wrong(`${path}.${name}`, 'is not documented')
    }),
  ]
}

function check(value: unknown, schema: JsonSchema, context: Context, path: string): string[] {
  const found = Object.keys(schema).flatMap((keyword) => {
    if (silent.has(keyword)) return []
    const limited = limits[keyword]
    if (limited) return limited(value, schema[keyword], path)
    const checked = keywords[keyword]
    if (checked) return checked(value, schema, context, path)
    throw new TypeError(`the check of schemas does not know the keyword ${keyword} (at ${path})`)
  })
  const prefixItems = schema.prefixItems as JsonSchema[] | undefined
  if (prefixItems && Array.isArray(value)) {
    found.push(
      ...prefixItems.flatMap((part, index) =>
        check(value[index], part, context, `${path}[${index}]`),
      ),
    )
  }
  const isMap = !schema.properties && isObject(schema.additionalProperties) && isObject(value)
  if (isMap) found.push(...fields(value, schema, context, path))
  return found
}
