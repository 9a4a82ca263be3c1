import { utf8 } from '../digest.ts'
import { SvcError } from '../svc-error.ts'

/** The longest prompt that an ICL takes unless it says otherwise, in UTF-8 bytes. */
export const maxPromptBytes = 32 * 1024

/** Throws SvcError `prompt-empty` or `prompt-too-long`. */
export function checkPrompt(prompt: string, limitBytes: number): void {
  if (prompt.trim() === '') {
    throw new SvcError('prompt-empty', 'The prompt is empty', { hint: 'Write what to ask.' })
  }
  const { length } = utf8(prompt)
  if (length > limitBytes) {
    throw new SvcError(
      'prompt-too-long',
      `The prompt has ${length} bytes, and at most ${limitBytes} fit`,
      { hint: `Shorten it by ${length - limitBytes} bytes or more.` },
    )
  }
}
