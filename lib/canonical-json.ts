import canonicalize from 'canonicalize'

/** JSON with one spelling only (RFC 8785), as the bytes that are hashed and signed. */
export function canonicalJson(value: unknown): Uint8Array<ArrayBuffer> {
  const text = plainText(value) ?? canonicalize(value)
  if (text === undefined) throw new TypeError('Only JSON values have a canonical form')
  return new TextEncoder().encode(text)
}

/** JSON.stringify spells numbers and texts as RFC 8785 does, and keeps the order of members. Returns undefined for a value that is not plain. */
function plainText(value: unknown): string | undefined {
  const copy = sorted(value, 0)
  if (copy === notPlain) return undefined
  const text = JSON.stringify(copy)
  // A lone surrogate has no canonical form.
  return /\\ud[89a-f]/.test(text) ? undefined : text
}

const notPlain = Symbol('not plain')
// Deeper values, and those that contain themselves, would overflow the stack.
const maxDepth = 64

/** Copies a value with the members of its objects in order. Returns `notPlain` when a part is not plain JSON. */
function sorted(value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : notPlain
  if (typeof value !== 'object' || depth === maxDepth || 'toJSON' in value) return notPlain
  if (Array.isArray(value)) {
    const copy: unknown[] = []
    for (const element of value) {
      const inner = sorted(element, depth + 1)
      // At once: an array that contains itself twice would have 2 to the 64 parts.
      if (inner === notPlain) return notPlain
      copy.push(inner)
    }
    return copy
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return notPlain
  const copy: Record<string, unknown> = {}
  // biome-ignore lint/suspicious/useArraySortCompare: RFC 8785 orders names by UTF-16 code units, as this does
  for (const name of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (member === undefined) continue
    const inner = sorted(member, depth + 1)
    // Objects order names that are numbers by themselves.
    if (inner === notPlain || /^\d/.test(name) || name === '__proto__') return notPlain
    copy[name] = inner
  }
  return copy
}
