import { utf8 } from '../digest.ts'
import { maxBlobBytes } from '../endpoints.ts'
import { promptOfText, promptText, writePrompt } from '../prompt.ts'
import { PromptDocument } from '../schemas/prompt.ts'
import { newSealingKey, seal, sealBytes } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import type { ClientContext } from './context.ts'

/** The longest prompt that an ICL takes unless it says otherwise, in bytes of the document before sealing. */
export const maxPromptBytes: number = maxBlobBytes - sealBytes

/** Returns a prompt's document; a text is one message of the user. Throws SvcError `prompt-empty`, `prompt-invalid` or `prompt-too-long`. */
export function checkPrompt(prompt: string | PromptDocument, limitBytes: number): PromptDocument {
  const document = typeof prompt === 'string' ? promptOfText(prompt) : checkDocument(prompt)
  if (promptText(document).trim() === '') {
    throw new SvcError('prompt-empty', 'The prompt is empty', { hint: 'Write what to ask.' })
  }
  const length = sealedBytesOf(document) - sealBytes
  if (length > limitBytes) {
    throw new SvcError(
      'prompt-too-long',
      `The prompt has ${length} bytes as it is sealed, and at most ${limitBytes} fit`,
      { hint: `Shorten it by ${length - limitBytes} bytes or more.` },
    )
  }
  return document
}

/** The size of a prompt once it is encrypted, in bytes. */
export const sealedBytesOf = (document: PromptDocument): number =>
  utf8(writePrompt(document)).length + sealBytes

function checkDocument(prompt: PromptDocument): PromptDocument {
  const parsed = PromptDocument.safeParse(prompt)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'prompt'
  throw new SvcError('prompt-invalid', `The prompt is not valid: ${where}: ${issue?.message}`, {
    hint: 'Correct it. docs/protocol.md lists what a prompt document may hold.',
  })
}

/** A prompt encrypted with a key of its own. */
export type SealedPrompt = {
  readonly blob: Uint8Array<ArrayBuffer>
  readonly promptKey: Uint8Array<ArrayBuffer>
}

/** Encrypts a prompt for this client with a key that has sealed nothing yet; throws as `checkPrompt` does. */
export async function sealPrompt(
  { address, network, random }: Pick<ClientContext, 'address' | 'network' | 'random'>,
  prompt: string | PromptDocument,
  promptKey: Uint8Array<ArrayBuffer> = newSealingKey(random),
): Promise<SealedPrompt> {
  const document = checkPrompt(prompt, network.limits.prompt_bytes)
  const purpose = { kind: 'prompt', client: address } as const
  const blob = await seal(writePrompt(document), promptKey, purpose, random)
  return { blob, promptKey }
}
