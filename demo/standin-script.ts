import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { errorMessage } from '../lib/error-message.ts'
import { SvcError } from '../lib/svc-error.ts'

const Turn = z.union([
  z.strictObject({ text: z.string().min(1).max(100_000) }),
  z.strictObject({
    calls: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
          arguments: z.record(z.string(), z.unknown()),
        }),
      )
      .min(1)
      .max(16),
  }),
])
/** The stand-in's answer at one point of a conversation: a text, or tool calls. */
export type Turn = z.output<typeof Turn>

const Script = z.strictObject({
  conversations: z
    .array(
      z.strictObject({
        /** Words of the user's message that begins the conversation. */
        when: z.string().min(1).max(1_000),
        turns: z.array(Turn).min(1).max(64),
      }),
    )
    .max(64),
})
/** The stand-in's answers, in place of its usual ones. */
export type Script = z.output<typeof Script>

/** Reads a script. Throws SvcError `script-invalid` that names the wrong place. */
export async function readScript(path: string): Promise<Script> {
  const invalid = (why: string) =>
    new SvcError('script-invalid', `the script ${path} cannot be used: ${why}`, {
      hint: 'demo/agent-script.json shows what it takes.',
    })
  let json: unknown
  try {
    json = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw invalid(errorMessage(error))
  }
  const parsed = Script.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** A message of OpenAI's or Anthropic's protocol. */
export type Message = { readonly role: string; readonly content: unknown }

/** Returns the text of a message, joined from its parts. */
export const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => String(part.text ?? '')).join('')
}

/**
 * Returns the next turn of a conversation: the first one after the user's message, and one more after each message of the assistant. It
 * depends on the messages alone, so all nodes give the same. Undefined when the script has none.
 */
export function turnOf(script: Script, messages: readonly Message[]): Turn | undefined {
  for (const { when, turns } of script.conversations) {
    const begun = messages.findLastIndex(
      ({ role, content }) => role === 'user' && textOf(content).includes(when),
    )
    if (begun < 0) continue
    const { length } = messages.slice(begun).filter(({ role }) => role === 'assistant')
    return turns[length]
  }
  return undefined
}
