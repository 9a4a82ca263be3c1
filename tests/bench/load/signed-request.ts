import { utf8 } from '../../../lib/digest.ts'
import { type RequestSigner, signedHeaders } from '../../../lib/request-signature.ts'
import { systemRandom } from '../../../lib/system.ts'
import { origin } from '../../icl/test-icl.ts'

/** What is asked. */
export type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
}

const nowSeconds = () => Math.floor(Date.now() / 1000)

/** The bytes of a request as it goes over the wire; `aheadSeconds` dates the signature that far ahead, so that it stays fresh for longer. */
export async function requestBytes(
  { method, path, body }: Call,
  signer?: RequestSigner,
  aheadSeconds = 0,
): Promise<Uint8Array> {
  const url = new URL(path, origin)
  const bytes = body === undefined ? undefined : utf8(JSON.stringify(body))
  const headers = new Headers(bytes ? { 'content-type': 'application/json' } : {})
  const signed = signer
    ? await signedHeaders({ method, url, headers, body: bytes }, signer, {
        created: nowSeconds() + aheadSeconds,
        nonce: systemRandom.bytes(16),
      })
    : headers
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${url.host}\r\n`
  for (const [name, value] of signed) head += `${name}: ${value}\r\n`
  if (bytes) head += `content-length: ${bytes.length}\r\n`
  return Buffer.concat([Buffer.from(`${head}\r\n`), bytes ?? new Uint8Array()])
}
