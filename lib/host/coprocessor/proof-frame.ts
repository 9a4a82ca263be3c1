import { deserialize, serialize } from 'node:v8'

/** The largest frame to or from a proof process. A CRS of 2048 bits takes 9 MB as hex. */
const maxFrameBytes = 64 << 20
const headBytes = 4

/** Writes a message as a frame: four bytes with the length, then the value in V8's serialisation. */
export function frameOf(message: unknown): readonly [Uint8Array, Uint8Array] {
  const body = serialize(message)
  if (body.length > maxFrameBytes)
    throw new RangeError(`a frame has at most ${maxFrameBytes} bytes`)
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(body.length)
  return [head, body]
}

/** Joins chunks of a pipe. Returns the message once it is complete, and throws when it is too long or invalid. */
export function createFrameReader(): (
  chunk: Uint8Array,
) => { readonly message: unknown } | undefined {
  const chunks: Uint8Array[] = []
  let length = 0
  let wanted: number | undefined
  return (chunk) => {
    chunks.push(chunk)
    length += chunk.length
    if (wanted === undefined) {
      if (length < headBytes) return undefined
      wanted = Buffer.concat(chunks).readUInt32BE()
      if (wanted > maxFrameBytes) throw new RangeError('a frame is too long')
    }
    if (length < headBytes + wanted) return undefined
    const whole = Buffer.concat(chunks)
    return { message: deserialize(whole.subarray(headBytes, headBytes + wanted)) }
  }
}
