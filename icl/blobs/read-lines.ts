import { concatBytes } from '../../lib/digest.ts'

const newline = 0x0a

/** Reads `limit` lines of an answer from `skip` on, and not what comes after; undefined when they are longer than `maxBytes`. */
export async function readLines(
  message: { readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null },
  {
    skip,
    limit,
    maxBytes,
  }: { readonly skip: number; readonly limit: number; readonly maxBytes: number },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  let passed = 0
  // Behind the line that makes `lines`, or at the end of the chunk.
  const goTo = (chunk: Uint8Array, start: number, lines: number): number => {
    let at = start
    while (passed < lines) {
      const end = chunk.indexOf(newline, at)
      if (end < 0) return chunk.length
      passed++
      at = end + 1
    }
    return at
  }
  for await (const chunk of message.body ?? []) {
    const from = goTo(chunk, 0, skip)
    const wanted = chunk.subarray(from, goTo(chunk, from, skip + limit))
    length += wanted.length
    // Leaving the loop cancels the rest of the body.
    if (length > maxBytes) return undefined
    chunks.push(wanted)
    if (passed >= skip + limit) break
  }
  return concatBytes(...chunks)
}
