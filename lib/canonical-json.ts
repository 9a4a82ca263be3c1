import canonicalize from 'canonicalize'

/** JSON with one spelling only (RFC 8785), as the bytes that are hashed and signed. */
export function canonicalJson(value: unknown): Uint8Array<ArrayBuffer> {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('Only JSON values have a canonical form')
  return new TextEncoder().encode(text)
}
