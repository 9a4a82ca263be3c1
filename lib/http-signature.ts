import { type InnerList, type Item, parseDictionary, serializeInnerList } from 'structured-headers'
import { sha256, utf8 } from './digest.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The parts of a request that RFC 9421's components are taken from. */
export type SignableRequest = {
  readonly method: string
  /** The absolute public URL. Its authority binds the signature to this ICL. */
  readonly url: URL
  readonly headers: Headers
  readonly hasBody: boolean
}

/** A signature of a request, parsed but not verified. */
export type ParsedSignature = {
  readonly components: readonly string[]
  readonly keyId: string
  readonly alg: string | undefined
  readonly created: number
  readonly expires: number | undefined
  readonly nonce: string | undefined
  readonly signature: Bytes
  /** The exact bytes that must have been signed. */
  readonly base: Bytes
}

/** The components that each signature must cover: for which ICL, what to do, and with which body. */
export const requiredComponents = (request: SignableRequest): readonly string[] => [
  '@authority',
  '@method',
  '@path',
  ...(request.url.search === '' ? [] : ['@query']),
  ...(request.hasBody ? ['content-digest'] : []),
]

/** The Content-Digest header of a body (RFC 9530). */
export async function contentDigest(body: Uint8Array): Promise<string> {
  const digest = await sha256(body)
  return `sha-256=:${btoa(String.fromCharCode(...digest))}:`
}

/** The sha-256 of a Content-Digest header, in that header's form. The header may have other digests too (RFC 9530). */
export const sha256Digest = (header: string): string | undefined =>
  /(?:^|,)[ \t]*(sha-256=:[A-Za-z0-9+/]{43}=:)[ \t]*(?:,|$)/.exec(header)?.[1]

/** The parameters of a signature, in the order of writing. */
export type SignatureParams = {
  readonly created: number
  readonly expires?: number
  readonly nonce?: string
  readonly keyid: string
  readonly alg?: string
}

/** Writes the Signature-Input member and the bytes to sign. */
export function signatureInput(
  request: SignableRequest,
  params: SignatureParams,
): { readonly input: string; readonly base: Bytes } {
  const components = requiredComponents(request)
  const list: InnerList = [
    components.map((name): Item => [name, new Map()]),
    new Map<string, string | number>(Object.entries(params)),
  ]
  const input = serializeInnerList(list)
  return { input, base: signatureBase(request, components, input) }
}

/** Reads the signature named `label`; undefined when there is none. Throws on malformed headers. */
export function parseSignature(
  request: SignableRequest,
  label: string,
): ParsedSignature | undefined {
  const inputs = request.headers.get('signature-input')
  const signatures = request.headers.get('signature')
  if (inputs === null || signatures === null) return undefined
  const usual = parseUsual(request, label, inputs, signatures)
  if (usual) return usual
  const list = parseDictionary(inputs).get(label)
  const item = parseDictionary(signatures).get(label)
  if (list === undefined || item === undefined) return undefined
  const [items, params] = list
  const [bytes] = item
  if (!Array.isArray(items) || !(bytes instanceof ArrayBuffer)) {
    throw new TypeError('Signature headers are not those of RFC 9421')
  }
  const components = items.map(([name, itemParams]) => {
    if (typeof name !== 'string' || itemParams.size > 0) {
      throw new TypeError('Component parameters are not supported')
    }
    return name
  })
  const { keyid, alg, created, expires, nonce } = Object.fromEntries(params)
  if (typeof keyid !== 'string' || !isTime(created)) {
    throw new TypeError('Signature parameters keyid and created are required')
  }
  if (expires !== undefined && !isTime(expires)) throw new TypeError('expires must be a time')
  if (nonce !== undefined && typeof nonce !== 'string') throw new TypeError('nonce must be a text')
  if (alg !== undefined && typeof alg !== 'string') throw new TypeError('alg must be a text')
  return {
    components,
    keyId: keyid,
    alg,
    created,
    expires,
    nonce,
    signature: new Uint8Array(bytes),
    base: signatureBase(request, components, serializeInnerList([items, params])),
  }
}

const text = '[\\x20!\\x23-\\x5b\\x5d-\\x7e]*'
const time = '(0|[1-9][0-9]{0,14})'
const usualInput = new RegExp(
  `^([a-z]+)=(\\(("[@a-z0-9-]+"(?: "[@a-z0-9-]+")*)\\);created=${time}(?:;expires=${time})?(?:;nonce="(${text})")?;keyid="(${text})"(?:;alg="(${text})")?)$`,
)
const usualSignature = /^([a-z]+)=:([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{87}=):$/

/** Fast path: reads headers in the form that `signatureInput` writes by one regular expression each. Undefined for every other form. */
function parseUsual(
  request: SignableRequest,
  label: string,
  inputs: string,
  signatures: string,
): ParsedSignature | undefined {
  const [, inputLabel, input = '', names = '', created, expires, nonce, keyId = '', alg] =
    usualInput.exec(inputs) ?? []
  const [, signatureLabel, signature = ''] = usualSignature.exec(signatures) ?? []
  if (inputLabel !== label || signatureLabel !== label) return undefined
  const components = names.slice(1, -1).split('" "')
  return {
    components,
    keyId,
    alg,
    created: Number(created),
    expires: expires === undefined ? undefined : Number(expires),
    nonce,
    signature: Uint8Array.from(atob(signature), (letter) => letter.charCodeAt(0)),
    base: signatureBase(request, components, input),
  }
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value)

function signatureBase(
  request: SignableRequest,
  components: readonly string[],
  input: string,
): Bytes {
  if (new Set(components).size !== components.length) throw new TypeError('A component is repeated')
  const lines = components.map((name) => `"${name}": ${componentValue(request, name)}`)
  return utf8([...lines, `"@signature-params": ${input}`].join('\n'))
}

function componentValue({ method, url, headers }: SignableRequest, name: string): string {
  switch (name) {
    case '@authority':
      return url.host
    case '@method':
      return method.toUpperCase()
    case '@path':
      return url.pathname
    case '@query':
      return url.search === '' ? '?' : url.search
    default: {
      if (!/^[a-z0-9-]+$/.test(name)) throw new TypeError(`Component ${name} is not supported`)
      const value = headers.get(name)
      if (value === null) throw new TypeError(`Signed header ${name} is missing`)
      return value.trim().replace(/[ \t]+/g, ' ')
    }
  }
}
