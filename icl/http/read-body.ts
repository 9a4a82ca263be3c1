import { ProblemError } from '../../lib/problem.ts'
import { readLimited } from '../../lib/read-limited.ts'

/** Reads a request's body; throws `body-too-large` when it is longer than `maxBytes`. */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const isLong = Number(request.headers.get('content-length') ?? 0) > maxBytes
  const bytes = isLong ? undefined : await readLimited(request, maxBytes)
  if (bytes) return bytes
  throw new ProblemError('body-too-large', `A body may have at most ${maxBytes} bytes`)
}
