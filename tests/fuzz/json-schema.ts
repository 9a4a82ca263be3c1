import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** A JSON Schema (2020-12) as the served document has it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Schemas = Readonly<Record<string, JsonSchema>>

/** The schema that a reference names. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  const target = schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
  if (!target) throw new TypeError(`the document has no schema ${$ref}`)
  return resolved(target, schemas)
}

const ajv = new Ajv2020({
  allErrors: true,
  strictTuples: false,
  strictTypes: false,
  validateFormats: false,
  allowMatchingProperties: true,
})
ajv.addVocabulary(['components'])
const compiled = new Map<string, ValidateFunction>()

/** A schema in which each object has the named properties and no others. */
const closed = (schema: unknown): JsonSchema =>
  JSON.parse(
    JSON.stringify(schema, (_, part) =>
      part?.type === 'object' && part.properties && part.additionalProperties === undefined
        ? { ...part, additionalProperties: false }
        : part,
    ),
  )

/** What of a value does not fit its schema, in words; a property that the schema does not name counts as such. */
export function misfits(value: unknown, schema: JsonSchema, schemas: Schemas): string[] {
  const name = JSON.stringify(schema)
  const validate = compiled.get(name) ?? ajv.compile(closed({ ...schema, components: { schemas } }))
  compiled.set(name, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `$${instancePath} ${message ?? 'does not fit'} ${JSON.stringify(params)}`,
  )
}
