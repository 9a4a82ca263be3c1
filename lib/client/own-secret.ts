import type { LocalAccount } from 'viem'
import { equalBytes, sha256, toBase64Url } from '../digest.ts'
import type { Random } from '../random.ts'
import { clientSecretFrom, clientSecretTypedData } from '../sealing/job-secret.ts'
import { SvcError } from '../svc-error.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The secret that all jobs of a client at one ICL derive theirs from. */
export type OwnSecret = {
  readonly bytes: Bytes
  /** False when the wallet cannot give the secret again: the answers can be opened by this client alone, while it is in memory. */
  readonly reopens: boolean
}

/** Where a page remembers that a wallet gives the same secret each time. The text is a hash, from which the secret does not follow. */
export type SecretMemory = {
  readonly read: () => string | null | undefined
  readonly write: (check: string) => void
}

/**
 * Returns a function that asks the account for the secret when it is called first. It is asked twice, unless `memory` shows that it gave the
 * same before: an account may be any signer, and not every one signs the same each time. Where it gives two, or its user declines, the secret is random. Rejects with SvcError `wallet-failed` and the like,
 * and asks again the next time.
 */
export function createOwnSecret(options: {
  readonly account: LocalAccount
  readonly icl: { readonly origin: string; readonly chainId: number }
  readonly random: Random
  readonly memory?: SecretMemory | undefined
}): () => Promise<OwnSecret> {
  let known: Promise<OwnSecret> | undefined
  return () => {
    known ??= derive(options).catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

async function derive({
  account,
  icl,
  random,
  memory,
}: Parameters<typeof createOwnSecret>[0]): Promise<OwnSecret> {
  const ask = async () => clientSecretFrom(await account.signTypedData(clientSecretTypedData(icl)))
  try {
    const bytes = await ask()
    const check = toBase64Url(await sha256(bytes))
    const isKnown = memory?.read() === check
    if (isKnown || equalBytes(await ask(), bytes)) {
      if (!isKnown) memory?.write(check)
      return { bytes, reopens: true }
    }
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'wallet-refused') throw error
  }
  return { bytes: random.bytes(32), reopens: false }
}
