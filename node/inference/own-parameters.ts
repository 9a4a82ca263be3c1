/*
 * Problem: the node chooses some parameters of a request itself: how an answer is repeated, and the name and size of its limit. Models and
 * servers refuse some of them, each another one. The client did not write them, so they must not end its job.
 *
 * Idea: the refused request is sent again at once without what was refused, by the limit's other name, or with the limit that the
 * provider names. Nothing was generated, so nothing was paid. The node remembers it for the model, so that it happens once a process.
 *
 * Invariants:
 * - One call sends each name of the limit once, a lower limit each time, and no parameter again that was refused, at most 7 requests.
 * - Words may quote a client, or be about its prompt. So they are remembered only when the client's request has not the same words, and
 *   when the provider answered the changed request.
 */

import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { Completion } from './provider.ts'
import { ProviderFault } from './provider-fault.ts'
import { failureIn, ProviderReport } from './provider-report.ts'

/** What the node chooses in a request. */
export type OwnParameters = {
  readonly temperature?: 0 | undefined
  /** In place of one that the prompt has. */
  readonly seed?: 0 | undefined
  /** The node reads a stream, so that it knows that the provider is at work. */
  readonly stream?: true | undefined
  readonly stream_options?: { readonly include_usage: true } | undefined
  readonly limitName: LimitName
  /** The longest answer that the model may be asked for. */
  readonly mostTokens: number
}

type LimitName = 'max_tokens' | 'max_completion_tokens'

const otherName = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
} as const

/**
 * Makes the function that asks with the parameters that a model takes, as far as they are known. `sentOf` gives the client's part of a
 * request. `unknown` names no limit at this API.
 */
export function createAsking(
  first: OwnParameters,
  sentOf: (prompt: PromptDocument) => object,
  unknown: readonly LimitName[] = [],
) {
  const learnt = new Map<string, OwnParameters>()
  const learn = (model: string, change: Partial<OwnParameters>) =>
    learnt.set(model, { ...(learnt.get(model) ?? first), ...change })
  return async <T>(
    completion: Completion,
    askOnce: (own: OwnParameters) => Promise<T>,
  ): Promise<T> => {
    const { model, prompt, mayCall } = completion
    let own = learnt.get(model) ?? first
    let guessed: Partial<OwnParameters> = {}
    const named = new Set(unknown)
    for (let changes = 0; ; changes++) {
      named.add(own.limitName)
      try {
        const answer = await askOnce(own)
        learn(model, guessed)
        return answer
      } catch (error) {
        const report = failureIn(error)
        if (!(report instanceof ProviderReport) || report.code !== 'provider-refused') throw error
        const refused = refusedBy(report, own, completion)
        const isAgain = refused?.limitName !== undefined && named.has(refused.limitName)
        if (refused === undefined || isAgain || changes === maxChanges) throw error
        own = { ...own, ...refused }
        const sent = JSON.stringify([model, sentOf(prompt)]).toLowerCase()
        if (isSure(report, refused)) learn(model, refused)
        else if (!mayQuote(report, refused, sent)) guessed = { ...guessed, ...refused }
        if (mayCall?.() === false) throw new ProviderFault('provider-unavailable', notTaken)
      }
    }
  }
}

const maxChanges = 6
const notTaken =
  'does not take what the node adds to a request, and the job has used up its requests'

const isLimit = ({ limitName, mostTokens }: Partial<OwnParameters>) =>
  limitName !== undefined || mostTokens !== undefined

/** True when the provider named the parameter in the field for it. What is wrong with a limit may still depend on the prompt. */
const isSure = ({ param }: ProviderReport, refused: Partial<OwnParameters>) =>
  param !== undefined && !isLimit(refused)

/** True when words of a client may have named the parameter or the limit, or when the limit is one for its prompt. */
function mayQuote({ words }: ProviderReport, refused: Partial<OwnParameters>, sent: string) {
  if (refused.mostTokens !== undefined && /\b(prompt|input|messages?|context)\b/i.test(words))
    return true
  if (isLimit(refused)) return /max_(completion_)?tokens/.test(sent)
  return Object.keys(refused).some((name) => sent.includes(name))
}

const optional = ['temperature', 'seed', 'stream_options'] as const

/** Returns what to change in the own parameters after a refusal; undefined when it is about something else. */
function refusedBy(
  { param, words }: ProviderReport,
  own: OwnParameters,
  { prompt, maxOutputTokens }: Completion,
): Partial<OwnParameters> | undefined {
  // A path within the client's part may hold its words.
  const [root] = param?.split(/[.[]/) ?? []
  const isNamed = (name: string) =>
    root === undefined
      ? new RegExp(`(?<![\\w/-])${name}(?![\\w-])`).test(words)
      : new RegExp(`^${name}$`).test(root)
  const isOwn = (name: keyof OwnParameters) =>
    own[name] !== undefined && !(name === 'seed' && prompt.seed !== undefined)
  const refused = optional.filter((name) => isOwn(name) && isNamed(name))
  if (refused.length > 0) return Object.fromEntries(refused.map((name) => [name, undefined]))
  if (own.stream && isNamed('[sS]tream(ing)?'))
    return { stream: undefined, stream_options: undefined }
  if (!isNamed(own.limitName) && !isNamed(otherName[own.limitName])) return undefined
  const most = Number(words.match(limitInWords)?.[1]?.replaceAll(',', '') ?? 0)
  const isLower = most > 0 && most < Math.min(own.mostTokens, maxOutputTokens)
  return isLower ? { mostTokens: most } : { limitName: otherName[own.limitName] }
}

/** `at most 512 completion tokens`, `Expected a value <= 4096`, `max_tokens: 8192 > 4096`, `the valid range is [1, 8192]`. */
const limitInWords =
  /(?:at most|maximum value(?: is| of)?|less than or equal to|<=|not exceed|\d >|\[\s*\d+\s*,|(?:limit|maximum) (?:is|of))\s*[`'"]?(\d[\d,]{0,9})/i
