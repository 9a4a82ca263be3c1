// `z.encode` checks each value twice and copies it. What this program made itself needs no check: only codecs and normal forms are applied,
// and members that a schema does not name are left out.

import { z } from 'zod'

type Encode = (value: unknown) => unknown

const compiled = new WeakMap<z.core.$ZodType, Encode>()

/** Returns the wire form of a value that this program made: as `z.encode`, but without its checks. */
export const encode = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  encoderOf(schema)(value) as z.input<T>

function encoderOf(schema: z.core.$ZodType): Encode {
  const known = compiled.get(schema)
  if (known) return known
  const own = encoderOfType(schema)
  const rewrites = (schema._zod.def.checks ?? []).flatMap(({ _zod: { def } }) =>
    def.check === 'overwrite' ? [(def as z.core.$ZodCheckOverwriteDef).tx as Encode] : [],
  )
  const whole: Encode =
    rewrites.length === 0
      ? own
      : (value) => own(rewrites.reduce((before, rewrite) => rewrite(before), value))
  compiled.set(schema, whole)
  return whole
}

const same: Encode = (value) => value
const unchanged: ReadonlySet<string> = new Set(
  'string number bigint boolean literal enum'.split(' '),
)

function encoderOfType(schema: z.core.$ZodType): Encode {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (unchanged.has(def.type)) return same
  if (def.type === 'object' && (!def.catchall || def.catchall._zod.def.type === 'never')) {
    return objectEncoder(def.shape)
  }
  if (def.type === 'array') {
    const element = encoderOf(def.element)
    return element === same ? same : (value) => (value as readonly unknown[]).map(element)
  }
  if (def.type === 'optional' || def.type === 'nullable' || def.type === 'nonoptional') {
    const inner = encoderOf(def.innerType)
    return inner === same ? same : (value) => (value == null ? value : inner(value))
  }
  if (def.type === 'pipe' && def.reverseTransform) {
    const { in: first, out, reverseTransform } = def
    const [before, after] = [encoderOf(out), encoderOf(first)]
    return (value) => after(reverseTransform(before(value), { value, issues: [] }))
  }
  // Kinds that are rare go the whole way.
  return (value) => z.encode(schema as z.ZodType, value)
}

function objectEncoder(shape: z.core.$ZodShape): Encode {
  const members = Object.entries(shape).map(([name, schema]) => [name, encoderOf(schema)] as const)
  return (value) => {
    const from = value as Readonly<Record<string, unknown>>
    const encoded: Record<string, unknown> = {}
    for (const [name, encodeMember] of members) {
      const member = from[name]
      if (member !== undefined) encoded[name] = encodeMember(member)
    }
    return encoded
  }
}
