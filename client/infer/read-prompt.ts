import { abortable } from '../../lib/chain/abortable.ts'
import { concatBytes } from '../../lib/digest.ts'
import { noPrompt } from './options.ts'

// More than any ICL takes. The ICL itself tells the exact limit.
const maxBytes = 4 * 1024 * 1024

/** Reads the prompt from standard input, without byte order mark and last line break. Throws SvcError `usage` on a terminal. */
export async function readPrompt(
  input: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean },
  signal: AbortSignal,
): Promise<string> {
  if (input.isTTY) throw noPrompt('There is no prompt')
  return await abortable(readText(input), signal)
}

async function readText(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of input) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) throw noPrompt('The prompt on standard input is too long')
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(concatBytes(...chunks))
    return text.replace(/\r?\n$/, '')
  } catch {
    throw noPrompt('The prompt on standard input is not UTF-8 text')
  }
}
