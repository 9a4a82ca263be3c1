/** Parses a text or its UTF-8 bytes; undefined when it is not JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    const text =
      typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json)
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
