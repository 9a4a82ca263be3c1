const headerBytes = 16
const maxBytes = 64 * 1024 * 1024

/** Cuts a stream of MongoDB's protocol into its messages, each of which begins with its length. */
export function createFrames(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let bytes = 0
  return (chunk) => {
    chunks.push(chunk)
    bytes += chunk.length
    let rest: Buffer | undefined
    while (bytes >= headerBytes) {
      rest = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      if (!rest) return
      const length = rest.readInt32LE(0)
      if (length < headerBytes || length > maxBytes)
        throw new Error(`No message has ${length} bytes`)
      chunks = [rest]
      if (bytes < length) return
      onFrame(rest.subarray(0, length))
      bytes -= length
      chunks = bytes > 0 ? [rest.subarray(length)] : []
    }
  }
}
