import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import { brokeOff, createEventReader, unreadable } from './answer-events.ts'
import type { Completed, Completion, Usage } from './provider.ts'
import { ProviderFault } from './provider-fault.ts'
import { foreign, maxAnswerBytes, maxBodyBytes } from './provider-fetch.ts'
import { throwReported } from './provider-report.ts'

/** Gathers an answer from the events of a stream, or from the one document of a server that does not stream. */
export type Gathering = {
  /** Throws ProviderFault or ProviderReport. */
  add(event: unknown): void
  /** True once there is text, or a call of a tool. */
  hasBegun(): boolean
  /** True once the provider has said how the answer ended. `[DONE]` alone is no word of it: gateways send it after a break, too. */
  hasEnded(isDone: boolean): boolean
  /** The length of what is kept. */
  size(): number
  usage(): Usage | undefined
  /** Throws ProviderFault. */
  end(prompt: PromptDocument): Completed
}

/** The signal that ends a try, and what to call for each sign that the answer goes on. */
export type Reading = { readonly signal: AbortSignal; readonly heard: () => void }

/** Reads a completion to its end. Throws ProviderFault and ProviderReport. */
export async function readCompletion(
  response: Response,
  gathered: Gathering,
  { prompt, onUsage }: Pick<Completion, 'prompt' | 'onUsage'>,
  reading: Reading,
): Promise<Completed> {
  try {
    const events = await readEvents(response, gathered, reading)
    // A half may be a whole answer by its form.
    if (events.isStream() && !gathered.hasEnded(events.isDone())) throw brokeOff()
    return gathered.end(prompt)
  } finally {
    const usage = gathered.usage()
    if (usage) onUsage?.(usage)
  }
}

/** Reads the one document of a body. */
export async function readDocument(response: Response, signal: AbortSignal): Promise<unknown> {
  let document: unknown
  const add = (event: unknown) => {
    document = event
  }
  const no = () => false
  await readEvents(
    response,
    { add, hasBegun: no, hasEnded: no, size: () => 0 },
    { signal, heard: no },
  )
  return document
}

async function readEvents(
  response: Response,
  { add, hasBegun, hasEnded, size }: Pick<Gathering, 'add' | 'hasBegun' | 'hasEnded' | 'size'>,
  { signal, heard }: Reading,
): Promise<ReturnType<typeof createEventReader>> {
  const events = createEventReader(response.headers.get('content-type'))
  const take = (event: unknown) => {
    if (event === unreadable) {
      if (hasEnded(false)) return
      throw foreign('sent events that cannot be read', { isPaid: true })
    }
    throwReported(event, response)
    add(event)
  }
  const isOver = () => hasEnded(events.isDone())
  await readText(response, signal, isOver, (text) => {
    events.push(text).forEach(take)
    if (events.size() + size() > maxAnswerBytes) throw tooLarge()
    if (hasBegun()) heard()
    return events.isDone()
  })
  events.end().forEach(take)
  return events
}

/** Calls `take` with each piece of a body, until it returns true. A connection may break after the end. */
async function readText(
  { body, headers }: Response,
  signal: AbortSignal,
  hasEnded: () => boolean,
  take: (text: string) => boolean,
): Promise<void> {
  const reader = body?.getReader()
  // Not awaited: Node's need not end.
  const cancel = () => void reader?.cancel().catch(() => {})
  const broken = (error: unknown) => {
    signal.throwIfAborted()
    if (hasEnded()) return undefined
    throw error
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  signal.addEventListener('abort', cancel, { once: true })
  try {
    let length = Number(headers.get('content-length') ?? 0) > maxAnswerBytes ? Infinity : 0
    for (;;) {
      if (length > maxBodyBytes) throw tooLarge()
      const bytes = (await reader?.read().catch(broken))?.value
      signal.throwIfAborted()
      if (bytes === undefined || take(decode(decoder, bytes))) return
      length += bytes.length
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true })
  } catch {
    throw foreign('sent JSON that cannot be read')
  }
}

const tooLarge = () =>
  new ProviderFault('provider-answer-too-large', `sent more than ${maxAnswerBytes} bytes`)
