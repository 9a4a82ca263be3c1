import { concatBytes } from './digest.ts'

/** Reads the body of a request or an answer; undefined when it is longer than `maxBytes`. */
export async function readLimited(
  message: { readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null },
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of message.body ?? []) {
    length += chunk.length
    // Leaving the loop cancels the rest of the body.
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}
