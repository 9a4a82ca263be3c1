import { concatBytes, sha256, toBase64Url, utf8 } from '../../lib/digest.ts'
import type { SignedList } from '../../lib/schemas/list.ts'
import { statementBytes } from '../../lib/statements.ts'

// A list comes back within minutes, mostly to the process that signed it, and a check takes 40 us. Another process checks the signature.
const mostKnown = 4_096
const known = new Set<string>()

const nameOf = async ({ body, key, signature }: SignedList): Promise<string> =>
  toBase64Url(await sha256(concatBytes(utf8(`${key} ${signature} `), statementBytes(body))))

/** Remembers that this process signed a list. */
export async function noteSigned(list: SignedList): Promise<void> {
  known.add(await nameOf(list))
  const [oldest] = known
  if (oldest !== undefined && known.size > mostKnown) known.delete(oldest)
}

/** True when this process signed exactly this list lately. */
export const wasSignedHere = async (list: SignedList): Promise<boolean> =>
  known.has(await nameOf(list))
