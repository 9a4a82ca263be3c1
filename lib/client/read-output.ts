import type { JobId } from '../codecs.ts'
import { comparators } from '../comparators/all.ts'
import { evidenceKey } from '../evidence.ts'
import type { Receipt } from '../schemas/receipt.ts'
import { joinKey, unseal } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import type { ClientContext } from './context.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** Decrypts the output key that the leader stated, then the output. */
export async function decryptOutput(
  { coprocessor }: ClientContext,
  receipt: Receipt,
  blob: Bytes,
  signal?: AbortSignal,
): Promise<string> {
  const { outHighHandle, outLowHandle } = receipt.leader.body
  const options = signal ? { signal } : {}
  const [high, low] = await Promise.all([
    coprocessor.decrypt(outHighHandle, options),
    coprocessor.decrypt(outLowHandle, options),
  ])
  return await unseal(blob, joinKey({ high, low }), { kind: 'output', jobId: receipt.jobId })
}

/** Checks that the text is the one the quorum agreed on: it reproduces the leader's evidence; throws SvcError `output-mismatch`. */
export async function checkOutput(
  text: string,
  receipt: Receipt,
  promptKey: Bytes,
  jobId: JobId,
): Promise<void> {
  const stated = receipt.leader.body.evidence
  const comparator = comparators[receipt.comparator]
  const own = await comparator.evidenceOf(text, await evidenceKey(promptKey, jobId))
  const same =
    own.comparator === stated.comparator &&
    own.digest === stated.digest &&
    own.sketch === stated.sketch &&
    own.tokens === stated.tokens
  if (same) return
  throw new SvcError(
    'output-mismatch',
    'The delivered output is not the one that the quorum agreed on',
    { hint: 'Do not rely on this answer; run the job again.' },
  )
}
