import { z } from 'zod'
import type { ProofMaterial } from '../../coprocessor/build-proof.ts'

/** Keys of a coprocessor that exists only for a check. */
export type SampleKeys = {
  readonly publicKey: Uint8Array
  readonly crs: Uint8Array
  /** Decrypts what was encrypted to the public key. */
  readonly clientKey: Uint8Array
}

/** A proof with all that is needed to verify and open it. */
export type ProofToOpen = SampleKeys & {
  readonly proof: Uint8Array
  readonly metadata: Uint8Array
}

/** The worker's kinds of work, with their inputs and outputs. */
export type Work = {
  readonly roundTrip: { readonly input: readonly bigint[]; readonly output: readonly bigint[] }
  readonly makeSampleKeys: { readonly input: null; readonly output: SampleKeys }
  readonly prove: { readonly input: ProofMaterial; readonly output: Uint8Array }
  readonly open: { readonly input: ProofToOpen; readonly output: readonly bigint[] }
}

/** A request to the worker. */
export type WorkerRequest = {
  [Kind in keyof Work]: { readonly kind: Kind; readonly input: Work[Kind]['input'] }
}[keyof Work]

/** The worker's answer. */
export type WorkerAnswer<Kind extends keyof Work> =
  | { readonly output: Work[Kind]['output'] }
  | { readonly failure: string }

const Values = z.array(z.bigint()).max(16)
const Bytes = (max: number) =>
  z.instanceof(Uint8Array).refine(({ length }) => length > 0 && length <= max, 'has a wrong length')
const Key = Bytes(32 << 20)

/** Limits of each kind of work's output. */
export const outputSchemas: { readonly [Kind in keyof Work]: z.ZodType<Work[Kind]['output']> } = {
  roundTrip: Values,
  makeSampleKeys: z.object({ publicKey: Key, crs: Key, clientKey: Key }),
  prove: Bytes(1 << 20),
  open: Values,
}
