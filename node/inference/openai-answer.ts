import { z } from 'zod'
import { parseJson } from '../../lib/parse-json.ts'
import { TokenCount } from '../../lib/schemas/answer.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { Completed, Usage } from './provider.ts'
import { notOfProtocol } from './provider-fetch.ts'
import { throwReported } from './provider-report.ts'
import type { Gathering } from './read-answer.ts'
import { checkReason, completedBy, maxCalls, refusedAnswer, tooManyCalls } from './sealed-text.ts'

/** Other servers may count differently, or not at all. */
export const Counted = z.object({
  usage: z
    .object({ prompt_tokens: TokenCount, completion_tokens: TokenCount })
    .transform(
      (told): Usage => ({
        input_tokens: told.prompt_tokens,
        output_tokens: told.completion_tokens,
      }),
    )
    .optional()
    .catch(undefined),
})

// Mistral's reasoning models send a list. Its other parts are thoughts and references.
const Part = z.object({ type: z.string().optional(), text: z.string().optional() }).catch({})
const Content = z
  .union([
    z.string(),
    z.array(Part).transform((parts) =>
      parts
        .filter(({ type = 'text' }) => ['text', 'output_text'].includes(type))
        .map(({ text = '' }) => text)
        .join(''),
    ),
  ])
  .nullish()

// llama.cpp has sent an object, and others send nothing for a tool without arguments.
const Arguments = z
  .unknown()
  .optional()
  .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given ?? undefined)))

const Call = z.object({
  index: z.int().nullish().catch(undefined),
  id: z.string().nullish().catch(undefined),
  function: z.object({ name: z.string().nullish(), arguments: Arguments }),
})
type Call = z.output<typeof Call>

const Said = z
  .object({
    content: Content,
    refusal: z.string().nullish().catch(undefined),
    tool_calls: z.array(Call).nullish(),
  })
  .nullish()

// Only the fields in use.
const Event = Counted.extend({
  choices: z
    .array(
      z.object({
        /** A whole answer. */
        message: Said,
        /** A part of one. Perplexity also sends the whole text so far. */
        delta: Said,
        finish_reason: z.string().nullish(),
        error: z.unknown().optional(),
      }),
    )
    .nullish(),
})

/** The answer reached its longest length. Some servers say it as Anthropic, Mistral or Google do. */
const cutReasons = ['length', 'max_tokens', 'model_length']

/** Gathers what a chat completion says. */
export function gatherOpenAi(): Gathering {
  let [text, refusal, reason, isAnswer] = ['', '', '', false]
  let [isEarly, isCounted] = [false, false]
  let usage: Usage | undefined
  const calls: Called[] = []

  const add = (event: unknown) => {
    const parsed = Event.safeParse(event)
    if (!parsed.success) throw notOfProtocol(event)
    const { choices, usage: counted } = parsed.data
    usage = counted ?? usage
    isAnswer ||= Array.isArray(choices)
    const [choice] = choices ?? []
    throwReported(choice)
    const { content, refusal: refused, tool_calls: called } = choice?.delta ?? choice?.message ?? {}
    const isMore = Boolean(content || called?.length)
    // Google's API and some gateways send the reason in each part: it says nothing of the end.
    isEarly ||= isMore && reason !== ''
    isCounted = !isMore && (isCounted || counted !== undefined)
    const said = choice?.finish_reason?.toLowerCase()
    // Some servers send an empty one in each part.
    if (said && said !== 'null') reason = said
    text += content ?? ''
    refusal += refused ?? ''
    for (const call of called ?? []) addCall(calls, call, !choice?.delta)
  }

  const end = (prompt: PromptDocument): Completed => {
    if (!isAnswer) throw notOfProtocol(undefined)
    if (refusal) throw refusedAnswer()
    checkReason(reason)
    const said = { content: text, toolCalls: calls, isCut: cutReasons.includes(reason) }
    return completedBy(prompt, said, usage)
  }

  return {
    ...{ add, end, usage: () => usage },
    size: () =>
      calls.reduce((sum, call) => sum + call.arguments.length, text.length + refusal.length),
    hasBegun: () => text !== '' || calls.length > 0,
    hasEnded: (isDone) =>
      isEarly
        ? isDone || isCounted
        : reason !== '' || (isDone && !(isAnswer && usage === undefined)),
  }
}

type Called = { index?: number | undefined; id: string; name: string; arguments: string }

/** Adds a call, or a part of one. */
function addCall(calls: Called[], { index, id, function: part }: Call, isWhole: boolean): void {
  const [name, written] = [part.name ?? '', part.arguments ?? '']
  const known = isWhole ? undefined : continued(calls, { index, id: id ?? '', name, written })
  if (known === undefined && calls.length === maxCalls) throw tooManyCalls()
  const call = known ?? { index: index ?? undefined, id: id ?? '', name: '', arguments: '' }
  if (known === undefined) calls.push(call)
  // Some servers repeat the name in each part.
  if (call.name !== name) call.name += name
  call.arguments += written
}

type CallPart = {
  readonly index?: number | null | undefined
  readonly id: string
  readonly name: string
  readonly written: string
}

/** Returns the call that a part continues. Some servers leave out the index or the id, have one of them for all calls, or a new id in each part. */
function continued(calls: readonly Called[], part: CallPart): Called | undefined {
  const { index, id, name } = part
  const byId = calls.findLast((call) => call.id === id && id !== '')
  const isNew = name !== '' && byId === undefined
  const hasIndex = typeof index === 'number'
  if (isNew && (!hasIndex || id !== '')) return undefined
  const call = hasIndex ? calls.findLast((one) => one.index === index) : (byId ?? calls.at(-1))
  return call && isAnother(call, part) ? undefined : call
}

/** True when a part with a name cannot belong to a call that has its arguments. */
const isAnother = (call: Called, { name, written }: CallPart): boolean =>
  name !== '' &&
  call.arguments !== '' &&
  (call.name !== name || (written !== '' && isWholeObject(call.arguments)))

// Most parts need not be parsed.
const isWholeObject = (json: string) => json.endsWith('}') && parseJson(json) !== undefined
