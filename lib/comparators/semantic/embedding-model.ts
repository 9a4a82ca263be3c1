/** The one embedding model of `semantic/1`: vectors of different models cannot be compared. */
export const embeddingModel = {
  provider: 'openai',
  model: 'text-embedding-3-small',
  dimensions: 1_536,
} as const

// A byte is a token at the most, and the model takes 8,191 tokens.
const maxEmbeddedBytes = 8_000

const encoder = new TextEncoder()

/** The start of a text that is embedded: as much as the model takes of any text, cut between characters. */
export function embeddedPartOf(normalised: string): string {
  const { read } = encoder.encodeInto(normalised, new Uint8Array(maxEmbeddedBytes))
  return normalised.slice(0, read)
}
