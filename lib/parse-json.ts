/** The value of a text, or of its bytes in UTF-8; undefined when it is no JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    const text =
      typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json)
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
