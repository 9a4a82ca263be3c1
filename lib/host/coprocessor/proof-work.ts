import { z } from 'zod'
import type { ProofMaterial } from '../../coprocessor/build-proof.ts'

/** Keys of a coprocessor that exists for a check only. */
export type SampleKeys = {
  readonly publicKey: Uint8Array
  readonly crs: Uint8Array
  /** Opens what was encrypted to the public key. */
  readonly clientKey: Uint8Array
}

/** A proof and what it takes to verify and open it. */
export type ProofToOpen = SampleKeys & {
  readonly proof: Uint8Array
  readonly metadata: Uint8Array
}

/** What the worker does: for each kind of work, what goes in and what comes out. */
export type Work = {
  readonly roundTrip: { readonly input: readonly bigint[]; readonly output: readonly bigint[] }
  readonly makeSampleKeys: { readonly input: null; readonly output: SampleKeys }
  readonly prove: { readonly input: ProofMaterial; readonly output: Uint8Array }
  readonly open: { readonly input: ProofToOpen; readonly output: readonly bigint[] }
}

/** What the worker is sent. */
export type WorkerRequest = {
  [Kind in keyof Work]: { readonly kind: Kind; readonly input: Work[Kind]['input'] }
}[keyof Work]

/** What it answers. */
export type WorkerAnswer<Kind extends keyof Work> =
  | { readonly output: Work[Kind]['output'] }
  | { readonly failure: string }

const Values = z.array(z.bigint()).max(16)
const Bytes = (max: number) =>
  z.instanceof(Uint8Array).refine(({ length }) => length > 0 && length <= max, 'has a wrong length')
const Key = Bytes(32 << 20)

/** What may come out of each kind of work. */
export const outputSchemas: { readonly [Kind in keyof Work]: z.ZodType<Work[Kind]['output']> } = {
  roundTrip: Values,
  makeSampleKeys: z.object({ publicKey: Key, crs: Key, clientKey: Key }),
  prove: Bytes(1 << 20),
  open: Values,
}
