import fc from 'fast-check'
import type { Dice } from '../simulation/dice.ts'
import { type JsonSchema, resolved } from './json-schema.ts'

/** Where values come from that a schema alone does not give: what the ICL itself has answered, by name. */
type Known = (name: string) => string | number | undefined

type Source = {
  readonly dice: Dice
  readonly schemas: Readonly<Record<string, JsonSchema>>
  readonly known: Known
}

const texts = new Map<string, readonly string[]>()

/** Texts that fit a pattern: always the same ones. */
function matching(pattern: string): readonly string[] {
  const made =
    texts.get(pattern) ??
    fc.sample(fc.stringMatching(new RegExp(pattern)), { seed: 1, numRuns: 24 })
  texts.set(pattern, made)
  return made
}

/** A value that fits a schema; what the ICL has named so before is preferred. */
export function valueFor(schema: JsonSchema, name: string, source: Source): unknown {
  const { dice } = source
  const whole = resolved(schema, source.schemas)
  if ('const' in whole) return whole.const
  if (Array.isArray(whole.enum)) return dice.pick(whole.enum)
  const choices = (whole.oneOf ?? whole.anyOf) as JsonSchema[] | undefined
  if (choices) return valueFor(dice.pick(choices), name, source)
  switch (whole.type) {
    case 'object':
      return objectOf(whole, source)
    case 'array':
      return arrayOf(whole, name, source)
    case 'boolean':
      return dice.chance(0.5)
    case 'null':
      return null
    case 'integer':
    case 'number':
      return numberOf(whole, name, source)
    default:
      return textOf(whole, name, source)
  }
}

function objectOf(schema: JsonSchema, source: Source): Record<string, unknown> {
  const required = new Set((schema.required ?? []) as string[])
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  return Object.fromEntries(
    properties
      .filter(([name]) => required.has(name) || source.dice.chance(0.4))
      .map(([name, part]) => [name, valueFor(part, name, source)]),
  )
}

function arrayOf(schema: JsonSchema, name: string, source: Source): unknown[] {
  const tuple = schema.prefixItems as JsonSchema[] | undefined
  if (tuple) return tuple.map((part) => valueFor(part, name, source))
  const least = Number(schema.minItems ?? 0)
  const most = Math.min(Number(schema.maxItems ?? least + 3), least + 3)
  const item = (schema.items ?? {}) as JsonSchema
  const length = source.dice.between(least, most)
  return Array.from({ length }, () => valueFor(item, name, source))
}

function numberOf({ minimum, maximum }: JsonSchema, name: string, { dice, known }: Source): number {
  const seen = known(name)
  if (typeof seen === 'number' && dice.chance(0.7)) return seen
  const least = Number(minimum ?? 0)
  const most = Number(maximum ?? 1_000)
  return dice.pick([least, most, dice.between(least, Math.min(most, least + 1_000))])
}

function textOf(schema: JsonSchema, name: string, { dice, known }: Source): string {
  const seen = known(name)
  if (typeof seen === 'string' && dice.chance(0.9)) return seen
  if (schema.format === 'uri' || /(^|_)url$/i.test(name)) return 'https://hooks.example.com/svc'
  if (typeof schema.pattern === 'string') return dice.pick(matching(schema.pattern))
  const least = Number(schema.minLength ?? 0)
  const most = Math.min(Number(schema.maxLength ?? 24), least + 24)
  return 'fuzz-text-'.repeat(1 + Math.ceil(most / 10)).slice(0, dice.between(least, most))
}
