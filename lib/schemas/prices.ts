import { z } from 'zod'

/** An amount in the smallest unit of the token: decimal text in one spelling, below 2^96. */
export const Amount = z.codec(
  z.string().regex(/^(0|[1-9][0-9]{0,28})$/, 'must be a whole number'),
  z
    .bigint()
    .min(0n)
    .max(2n ** 96n - 1n),
  { decode: (text) => BigInt(text), encode: (value) => value.toString() },
)

/** The prices of a model: of a million units of the prompt, and of the answer. */
export const ModelPrice = { input: Amount, output: Amount }
