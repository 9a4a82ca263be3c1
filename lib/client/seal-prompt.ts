import { newSealingKey, seal } from '../sealing.ts'
import type { ClientContext } from './context.ts'
import { checkPrompt } from './prompt-text.ts'

/** A prompt encrypted with a key of its own. */
export type SealedPrompt = {
  readonly blob: Uint8Array<ArrayBuffer>
  readonly promptKey: Uint8Array<ArrayBuffer>
}

/** Encrypts a prompt with a new key (or one that has sealed nothing yet), bound to this client; throws SvcError `prompt-empty` or `prompt-too-long`. */
export async function sealPrompt(
  { address, network, random }: Pick<ClientContext, 'address' | 'network' | 'random'>,
  prompt: string,
  promptKey: Uint8Array<ArrayBuffer> = newSealingKey(random),
): Promise<SealedPrompt> {
  checkPrompt(prompt, network.limits.prompt_bytes)
  const blob = await seal(prompt, promptKey, { kind: 'prompt', client: address }, random)
  return { blob, promptKey }
}
