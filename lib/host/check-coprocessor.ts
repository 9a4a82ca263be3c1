import { toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import { SvcError } from '../svc-error.ts'
import type { Check } from './checks.ts'
import { checking, failed, ok } from './checks.ts'

const attemptMs = 15_000
// For a download of nine megabytes.
const keysMs = 60_000
const nobodysHandle = 1n
// A coprocessor that looks for the ciphertext first finds none.
const refusals = ['coprocessor-access-denied', 'coprocessor-ciphertext-unknown']

type Place = {
  readonly rpcUrl: string
  readonly chainId: number
  /** The URLs known for the chain when undefined. */
  readonly urls: CoprocessorUrls | undefined
}

/** Checks a chain's coprocessor: it must serve its keys, and refuse a handle without a grant. `remedy` is for one that does not refuse. */
export const checkCoprocessor = (
  { rpcUrl, chainId, urls }: Place,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  remedy: string,
): Promise<Check> =>
  checking('coprocessor', async () => {
    const { createCofheCoprocessor } = await import('../coprocessor/cofhe.ts')
    // Any wallet may ask, so the check needs no password.
    const account = privateKeyToAccount(toHex(random.bytes(32)))
    const coprocessor = createCofheCoprocessor({
      rpcUrl,
      chainId,
      account,
      clock,
      coprocessor: urls,
      decryptTimeoutMs: attemptMs,
      encryptTimeoutMs: keysMs,
    })
    // A wrong URL may answer 404 too, but has no keys.
    await coprocessor.fetchKeys()
    const refusal = await coprocessor.decrypt(nobodysHandle).catch((error: unknown) => error)
    if (refusal instanceof SvcError && refusals.includes(refusal.code)) {
      return ok('coprocessor', 'responds, and refuses a handle without a grant')
    }
    if (refusal instanceof Error) throw refusal
    return failed('coprocessor', 'it decrypts a handle for a wallet without a grant', remedy)
  })
