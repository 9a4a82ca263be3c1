import { comparators } from '../comparators/all.ts'
import { promptOfText, promptText } from '../prompt.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import type { Receipt } from '../schemas/receipt.ts'
import { evidenceKeyOf } from '../sealing/job-secret.ts'
import { openOutput } from '../sealing/output.ts'
import { joinKey } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { deliveredAnswer } from './agreed.ts'
import type { ClientContext } from './context.ts'

type Bytes = Uint8Array<ArrayBuffer>

const uint128Max = (1n << 128n) - 1n

/** Decrypts the output key, then opens the output with it and the job's secret; throws SvcError `output-key-invalid`, `blob-unreadable` or an error of the coprocessor. */
export async function decryptOutput(
  { coprocessor }: ClientContext,
  receipt: Receipt,
  { blob, secret }: { readonly blob: Bytes; readonly secret: Bytes },
  signal?: AbortSignal,
): Promise<string> {
  const { outHighHandle, outLowHandle, fence } = receipt.delivery.body
  const options = signal ? { signal } : {}
  const [high, low] = await Promise.all([
    coprocessor.decrypt(outHighHandle, options),
    coprocessor.decrypt(outLowHandle, options),
  ])
  if ([high, low].some((half) => half < 0n || half > uint128Max)) {
    throw new SvcError(
      'output-key-invalid',
      'What the node stored that delivered is no key of an output',
      {
        hint: 'Run the job again. The node stored something else than halves of 16 bytes.',
      },
    )
  }
  const key = joinKey({ high, low })
  return await openOutput(blob, { jobId: receipt.jobId, fence, key, secret })
}

/** Checks that the text reproduces the deliverer's evidence, as the agreed text does; throws SvcError `output-mismatch`. */
export async function checkOutput(
  text: string,
  receipt: Receipt,
  { prompt, secret }: { readonly prompt: string | PromptDocument; readonly secret: Bytes },
): Promise<void> {
  const comparator = comparators[receipt.list.terms.comparator]
  const key = await evidenceKeyOf(secret, receipt.jobId)
  const asked = promptText(typeof prompt === 'string' ? promptOfText(prompt) : prompt)
  const shown = await comparator.evidenceOf({ text, prompt: asked, key })
  if (comparator.reproduces(shown, deliveredAnswer(receipt).evidence)) return
  throw new SvcError(
    'output-mismatch',
    'The delivered output is not the one that the quorum agreed on',
    { hint: 'Do not rely on this answer. Run the job again.' },
  )
}
