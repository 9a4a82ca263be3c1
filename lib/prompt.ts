import { parseJson } from './parse-json.ts'
import { PromptDocument } from './schemas/prompt.ts'
import { SvcError } from './svc-error.ts'

/** Returns the document of a text prompt: one message of the user. A lone surrogate becomes U+FFFD, as when text is encoded. */
export const promptOfText = (text: string): PromptDocument => ({
  version: 1,
  messages: [{ role: 'user', content: text.replace(/\p{Surrogate}/gu, '\ufffd') }],
})

/** Writes a document as the text that is sealed. Schemas keep the caller's order: models write the members of JSON in it. */
export const writePrompt = (prompt: PromptDocument): string => JSON.stringify(prompt)

/** Reads a sealed document. Throws SvcError `prompt-unreadable`, which quotes none of it. */
export function readPrompt(sealed: string): PromptDocument {
  const json = parseJson(sealed)
  if (json === undefined) throw unreadable('it is not JSON')
  const parsed = PromptDocument.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  // Paths hold only names of the schema. Messages may quote the prompt.
  throw unreadable(`${issue?.path.join('.') || 'the document'} is not as version 1 has it`)
}

/** Returns the prompt for evidence: the contents of all messages in order, without arguments of tool calls and schemas. Repeating it gets no credit. */
export const promptText = ({ messages }: Pick<PromptDocument, 'messages'>): string =>
  messages.flatMap(({ content }) => content ?? []).join('\n\n')

const unreadable = (why: string): SvcError =>
  new SvcError('prompt-unreadable', `the sealed prompt cannot be read: ${why}`, {
    hint: 'The client has to seal a prompt document (docs/protocol.md).',
  })
