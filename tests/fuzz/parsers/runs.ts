import fc from 'fast-check'
import { it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'

const lifted = Number(process.env.FUZZ_RUNS ?? 0)

/** A test of properties, which may take as good as forever where more was asked for. */
export const itHolds = (name: string, test: () => Promise<void>): void =>
  it(name, test, lifted > 0 ? 3_600_000 : 120_000)

/** How often a property is tried: always with the same cases, unless FUZZ_RUNS asks for more. */
export const runs = (few: number) => ({ seed: 20_261_122, numRuns: lifted > 0 ? lifted : few })

/** Tries a property so often. */
export const forAll = <Values extends [unknown, ...unknown[]]>(
  few: number,
  ...property: [
    ...arbitraries: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
    holds: (...values: Values) => Promise<void> | void,
  ]
): Promise<void> => {
  const holds = property.pop() as (...values: Values) => Promise<void> | void
  const tuple = fc.tuple(...(property as unknown as fc.Arbitrary<unknown>[]))
  return fc.assert(
    fc.asyncProperty(tuple, async (values) => holds(...(values as Values))),
    runs(few),
  )
}

/** Any JSON, with the names among its keys that objects have from elsewhere. */
export const hostileJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, 2 ** 53),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('__proto__', '0x', 'constructor', '9'.repeat(100)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          fc.oneof(
            fc.string({ maxLength: 8 }),
            fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'length'),
          ),
          tie('value'),
        ),
        { maxLength: 4 },
      )
      .map((entries) => {
        const object = {}
        for (const [key, value] of entries) {
          // As JSON.parse does it: a property of its own, whatever its name.
          Object.defineProperty(object, key, {
            value,
            enumerable: true,
            configurable: true,
            writable: true,
          })
        }
        return object
      }),
  ),
})).value as fc.Arbitrary<unknown>

/** The same value with something else in one place, at any depth. */
export const changedJson = (whole: unknown): fc.Arbitrary<unknown> =>
  fc.tuple(fc.infiniteStream(fc.nat()), hostileJson, fc.nat(3)).map(([steps, other, kind]) => {
    const copy = structuredClone(whole)
    let place: unknown = copy
    for (let depth = 0; depth < 8; depth++) {
      if (typeof place !== 'object' || place === null) break
      const names = Object.keys(place)
      const name = names[Number(steps.next().value) % Math.max(names.length, 1)]
      if (name === undefined) break
      const fields = place as Record<string, unknown>
      const inner = fields[name]
      const goesOn =
        typeof inner === 'object' && inner !== null && Number(steps.next().value) % 3 > 0
      if (goesOn) {
        place = inner
        continue
      }
      if (kind === 0) delete fields[name]
      else fields[name] = kind === 1 && typeof inner === 'number' ? inner + 1 : other
      break
    }
    return copy
  })

/** Passes errors that say what is wrong; everything else is a failure of the parser. */
export function expectTyped(error: unknown): void {
  if (error instanceof ProblemError || error instanceof SvcError) return
  throw error
}

/** Throws when something was put where every object gets its properties from. */
export function expectUnpolluted(): void {
  const strays = Object.keys(Object.prototype)
  if (strays.length > 0) throw new Error(`Object.prototype has ${strays.join(', ')}`)
}
