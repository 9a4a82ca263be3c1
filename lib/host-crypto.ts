// The host's own synchronous cryptography. WebCrypto passes each call to another thread and back, which costs a server more than a short
// hash or signature itself. Node, Bun and Deno also have `node:crypto`. Browsers and workerd do not, so WebCrypto does the work there. It
// is looked up at run time, so that no bundle for a browser includes a polyfill.

type Bytes = Uint8Array<ArrayBuffer>

/** An imported key. Opaque. */
type HostKey = { readonly type: string }

type Digesting = { update(bytes: Uint8Array): { digest(): Bytes } }

/** The used part of `node:crypto`. */
type HostCrypto = {
  hash(name: 'sha256', bytes: Uint8Array, encoding: 'buffer'): Bytes
  createHmac(name: 'sha256', key: Uint8Array): Digesting
  createPublicKey(key: { key: object; format: 'jwk' }): HostKey
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): HostKey
  sign(algorithm: null, message: Uint8Array, key: HostKey): Bytes
  verify(algorithm: null, message: Uint8Array, key: HostKey, signature: Uint8Array): boolean
}

type Host = {
  readonly navigator?: { readonly userAgent?: string }
  readonly process?: { getBuiltinModule?(name: string): Partial<HostCrypto> | undefined }
}

const names = [
  'hash',
  'createHmac',
  'createPublicKey',
  'createPrivateKey',
  'sign',
  'verify',
] as const satisfies readonly (keyof HostCrypto)[]

function findHostCrypto({ navigator, process }: Host): HostCrypto | undefined {
  // Workers have a part of `node:crypto`, but not in every version Ed25519 keys.
  if (navigator?.userAgent === 'Cloudflare-Workers') return undefined
  const found = process?.getBuiltinModule?.('node:crypto')
  const isWhole = found !== undefined && names.every((name) => typeof found[name] === 'function')
  return isWhole ? (found as HostCrypto) : undefined
}

/** The host's `node:crypto`; undefined where it has none. */
export const hostCrypto = findHostCrypto(globalThis as Host)
