/** Something that must not show anywhere. */
export type Secret = { readonly name: string; readonly bytes: Uint8Array }

/** A place to search. */
export type Place = { readonly name: string; readonly bytes: Uint8Array }

const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16()

/** The bytes themselves and, where they are text, the same text in UTF-16. */
const writings = (bytes: Uint8Array): Buffer[] => {
  const plain = Buffer.from(bytes)
  const text = plain.toString('utf8')
  if (!Buffer.from(text).equals(plain)) return [plain]
  const utf16 = Buffer.from(text, 'utf16le')
  return [plain, utf16, swapped(utf16)]
}

/** What is sure to stand in the base64 of any text that has these bytes in it: one form per place in a group of three. */
const base64Forms = (bytes: Buffer): string[] =>
  [0, 1, 2].map((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const first = offset === 0 ? 0 : offset + 1
    const rest = (offset + bytes.length) % 3
    const last = rest === 0 ? whole.length : whole.length - 4 + rest
    return whole.slice(first, last)
  })

/** Every form in which a secret is searched: as it is, as UTF-16, and each of these in hex, base64 and base64url. */
function formsOf(bytes: Uint8Array): readonly Buffer[] {
  return writings(bytes).flatMap((writing) => {
    const base64 = base64Forms(writing)
    const base64url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))
    const hex = writing.toString('hex')
    const texts = [hex, hex.toUpperCase(), ...base64, ...base64url]
    return [writing, ...texts.map((text) => Buffer.from(text))]
  })
}

/** Where which secret shows. */
export function findLeaks(places: readonly Place[], secrets: readonly Secret[]): readonly string[] {
  const searched = secrets.map(({ name, bytes }) => ({ name, forms: formsOf(bytes) }))
  return places.flatMap((place) => {
    const haystack = Buffer.from(place.bytes.buffer, place.bytes.byteOffset, place.bytes.length)
    return searched
      .filter(({ forms }) => forms.some((form) => haystack.includes(form)))
      .map(({ name }) => `${name} in ${place.name}`)
  })
}
