import { expect, it } from 'vitest'
import { z } from 'zod'
import { encode } from '../../lib/encode.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { valueFor } from '../fuzz/from-schema.ts'
import type { JsonSchema } from '../fuzz/json-schema.ts'
import { createDice } from '../simulation/dice.ts'
import { makeReceipt } from './make-receipt.ts'

it('a value of each response is encoded as zod encodes it', () => {
  const dice = createDice(7)
  for (const { response } of Object.values(endpoints)) {
    if (!(response instanceof z.ZodType)) continue
    const form = z.toJSONSchema(response, { io: 'input', unrepresentable: 'any' })
    const schemas = form.$defs as Readonly<Record<string, JsonSchema>>
    const source = { dice, schemas, known: () => undefined }
    const values = Array.from({ length: 12 }, () =>
      response.safeParse(valueFor(form as JsonSchema, '', source)),
    ).flatMap(({ success, data }) => (success ? [data] : []))
    for (const data of values) {
      const value = { ...data, unnamed: 1 }
      expect(JSON.stringify(encode(response, value))).toBe(
        JSON.stringify(z.encode(response, value)),
      )
    }
  }
})

it('a receipt is encoded as zod encodes it', async () => {
  const { receipt } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
  expect(JSON.stringify(encode(Receipt, receipt))).toBe(JSON.stringify(z.encode(Receipt, receipt)))
})

it('members of every kind are encoded as zod encodes them', () => {
  const schema = z.object({
    number: z.codec(z.string(), z.bigint(), { decode: BigInt, encode: String }).optional(),
    list: z.array(z.object({ letters: z.string().toLowerCase() })).nullable(),
    either: z.union([z.string(), z.object({ a: z.string() })]),
    open: z.looseObject({}).optional(),
  })
  for (const value of [
    { number: 12n, list: [{ letters: 'AB', other: 1 }], either: 'x', open: { any: 1 }, other: 2 },
    { number: undefined, list: null, either: { a: '', b: 1 } },
  ]) {
    expect(encode(schema, value)).toEqual(z.encode(schema, value))
  }
})
