import { utf8 } from '../digest.ts'
import { maxBlobBytes } from '../endpoints.ts'
import { promptOfText, promptText, writePrompt } from '../prompt.ts'
import { PromptDocument } from '../schemas/prompt.ts'
import { envelopeBytes, sealPromptText } from '../sealing/envelope.ts'
import { jobSecretOf } from '../sealing/job-secret.ts'
import { newSealingKey } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'
import type { JobList } from './own-list.ts'

/** The longest prompt that an ICL takes unless it says otherwise, in bytes of the document before sealing. */
export const maxPromptBytes: number = maxBlobBytes - envelopeBytes

/** Returns a prompt's document; a text is one message of the user. Throws SvcError `prompt-empty`, `prompt-invalid` or `prompt-too-long`. */
export function checkPrompt(prompt: string | PromptDocument, limitBytes: number): PromptDocument {
  const document = typeof prompt === 'string' ? promptOfText(prompt) : checkDocument(prompt)
  if (promptText(document).trim() === '') {
    throw new SvcError('prompt-empty', 'The prompt is empty', { hint: 'Write what to ask.' })
  }
  const length = sealedBytesOf(document) - envelopeBytes
  if (length > limitBytes) {
    throw new SvcError(
      'prompt-too-long',
      `The prompt has ${length} bytes as it is sealed, and at most ${limitBytes} fit`,
      { hint: `Shorten it by ${length - limitBytes} bytes or more.` },
    )
  }
  return document
}

/** The size of a prompt once it is encrypted for a list of the greatest length, in bytes. */
export const sealedBytesOf = (document: PromptDocument): number =>
  utf8(writePrompt(document)).length + envelopeBytes

function checkDocument(prompt: PromptDocument): PromptDocument {
  const parsed = PromptDocument.safeParse(prompt)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'prompt'
  throw new SvcError('prompt-invalid', `The prompt is not valid: ${where}: ${issue?.message}`, {
    hint: 'Correct it. docs/protocol.md lists what a prompt document may hold.',
  })
}

/** A new key of a prompt, 32 bytes, whose halves are encrypted and stored on chain. */
export const newPromptKey = ({ random }: Pick<ClientContext, 'random'>): Uint8Array<ArrayBuffer> =>
  newSealingKey(random)

/** A sealed prompt, and the secret of its job. Neither ICL, chain nor coprocessor sees the secret. */
export type SealedPrompt = {
  readonly blob: Uint8Array<ArrayBuffer>
  readonly secret: Uint8Array<ArrayBuffer>
}

/**
 * Seals a prompt for the nodes of its list and for this client, under a key that has sealed nothing yet. Throws as `checkPrompt` does, as
 * the wallet does, and SvcError `quorum-untrusted` when a node of the list has a reading key that cannot be used.
 */
export async function sealPrompt(
  context: Pick<ClientContext, 'address' | 'network' | 'random' | 'secret'>,
  prompt: string | PromptDocument,
  under: {
    readonly promptKey: Uint8Array<ArrayBuffer>
    readonly stored: Pick<StoredPromptKey, 'highHandle' | 'lowHandle'>
    readonly list: JobList
  },
): Promise<SealedPrompt> {
  const { address, network, random } = context
  const { promptKey: key, stored, list } = under
  const document = checkPrompt(prompt, network.limits.prompt_bytes)
  const secret = await jobSecretOf((await context.secret()).bytes, stored)
  const { highHandle, lowHandle } = stored
  const of = {
    chainId: network.chain_id,
    store: network.contracts.prompt_key_store,
    client: address,
    ...{ highHandle, lowHandle, list: list.signed.body.list },
  }
  const text = writePrompt(document)
  const blob = await sealPromptText({ text, key, secret, of, grants: list.grants }, random)
  return { blob, secret }
}
