import { writePrompt } from '../prompt.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import { newSealingKey, seal } from '../sealing.ts'
import type { ClientContext } from './context.ts'
import { checkPrompt } from './prompt-text.ts'

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
