import { hexToBytes } from 'viem'
import type { Case } from '../../runtimes/inside/case.ts'

/** One case for all vectors of a kind; it names the one that fails. */
export const caseOf = <Vector>(
  what: string,
  vectors: readonly Vector[],
  check: (vector: Vector) => void | Promise<void>,
): Case => ({
  name: `vectors hold: ${what} (${vectors.length})`,
  run: async () => {
    for (const vector of vectors) {
      try {
        await check(vector)
      } catch (error) {
        const text = JSON.stringify(vector).slice(0, 80)
        throw new Error(`${text}: ${error instanceof Error ? error.message : error}`)
      }
    }
  },
})

/** The code of the error that a call ends with, or `none`. */
export const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'none',
    (error: { readonly code?: string }) => error.code ?? String(error),
  )

/** Bytes of 0x and hex. */
export const unhex = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(hexToBytes(text as `0x${string}`))
