import { z } from 'zod'

const Path = z.string().regex(/^\/playground\/[\w.-]+$/)

/** The paths of the parts that workers load. */
export const Assets = z.object({ coprocessorWorker: Path, proveWorker: Path, wasm: Path })
export type Assets = z.output<typeof Assets>
