import { comparators } from '../comparators/all.ts'
import { evidenceKey } from '../evidence.ts'
import { promptOfText, promptText } from '../prompt.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import type { Receipt } from '../schemas/receipt.ts'
import { joinKey, unseal } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { deliveredAnswer } from './agreed.ts'
import type { ClientContext } from './context.ts'

type Bytes = Uint8Array<ArrayBuffer>

const uint128Max = (1n << 128n) - 1n

/** Decrypts the output key, then the output; throws SvcError `output-key-invalid`, `blob-unreadable` or an error of the coprocessor. */
export async function decryptOutput(
  { coprocessor }: ClientContext,
  receipt: Receipt,
  blob: Bytes,
  signal?: AbortSignal,
): Promise<string> {
  const { outHighHandle, outLowHandle } = receipt.delivery.body
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
  return await unseal(blob, joinKey({ high, low }), { kind: 'output', jobId: receipt.jobId })
}

/** Checks that the text reproduces the deliverer's evidence, as the agreed text does; throws SvcError `output-mismatch`. */
export async function checkOutput(
  text: string,
  receipt: Receipt,
  { prompt, promptKey }: { readonly prompt: string | PromptDocument; readonly promptKey: Bytes },
): Promise<void> {
  const comparator = comparators[receipt.list.terms.comparator]
  const key = await evidenceKey(promptKey, receipt.jobId)
  const asked = promptText(typeof prompt === 'string' ? promptOfText(prompt) : prompt)
  const shown = await comparator.evidenceOf({ text, prompt: asked, key })
  if (comparator.reproduces(shown, deliveredAnswer(receipt).evidence)) return
  throw new SvcError(
    'output-mismatch',
    'The delivered output is not the one that the quorum agreed on',
    { hint: 'Do not rely on this answer. Run the job again.' },
  )
}
