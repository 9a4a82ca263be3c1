import { describeEncryption, type EncryptedHalves } from '../coprocessor/coprocessor.ts'
import { splitKey } from '../sealing.ts'
import type { ClientContext } from './context.ts'
import type { ProofTimings } from './inference.ts'

/** Encrypts a prompt key for the coprocessor and reports progress. `proof` is left out when no proof was made. */
export async function encryptKey(
  { coprocessor }: Pick<ClientContext, 'coprocessor'>,
  promptKey: Uint8Array,
  progress: (detail: string) => void = () => {},
  signal?: AbortSignal,
): Promise<{ readonly halves: EncryptedHalves; readonly proof?: ProofTimings }> {
  const { high, low } = splitKey(promptKey)
  const steps = { prepare: 0, prove: 0, verify: 0 }
  let bytes: number | undefined
  const halves = await coprocessor.encrypt(high, low, {
    ...(signal && { signal }),
    onStep: (news) => {
      progress(describeEncryption(news))
      if (news.phase === 'end') steps[news.step] = news.elapsedMs
      bytes = news.proofBytes ?? bytes
    },
  })
  return { halves, ...(bytes !== undefined && { proof: { bytes, stepsMs: steps } }) }
}
