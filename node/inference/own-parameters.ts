/*
 * Problem: the node chooses some parameters of a request itself: how an answer is repeated, and the name and size of its limit. Models and
 * servers refuse some of them, each another one. The client did not write them, so they must not end its job.
 *
 * Idea: the refused request is sent again at once without what was refused, by the limit's other name, or with the limit that the
 * provider names. Nothing was generated, so nothing was paid. The node remembers it for the model, so that it happens once a process.
 *
 * Invariants:
 * - One call sends each name of the limit once, a lower limit each time, and no parameter again that was refused. So it ends.
 * - A refusal whose words a client may have written changes that client's request alone.
 */

import type { Completion } from './provider.ts'
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

/** Makes the function that asks with the parameters that a model takes, as far as they are known. `unknown` names no limit at this API. */
export function createAsking(first: OwnParameters, unknown: readonly LimitName[] = []) {
  const learnt = new Map<string, OwnParameters>()
  return async <T>(
    completion: Completion,
    askOnce: (own: OwnParameters) => Promise<T>,
  ): Promise<T> => {
    const { model, prompt, mayCall } = completion
    let own = learnt.get(model) ?? first
    const named = new Set(unknown)
    for (;;) {
      named.add(own.limitName)
      try {
        return await askOnce(own)
      } catch (error) {
        const report = failureIn(error)
        if (!(report instanceof ProviderReport) || report.code !== 'provider-refused') throw error
        const refused = refusedBy(report, own, completion)
        const isAgain = refused?.limitName !== undefined && named.has(refused.limitName)
        if (refused === undefined || isAgain) throw error
        own = { ...own, ...refused }
        if (!mayQuote(report, refused, JSON.stringify(prompt).toLowerCase())) learnt.set(model, own)
        if (mayCall?.() === false) throw error
      }
    }
  }
}

/** True when words of a client may have named the parameter, or the limit. */
function mayQuote({ param }: ProviderReport, refused: Partial<OwnParameters>, prompt: string) {
  const isLimit = refused.limitName !== undefined || refused.mostTokens !== undefined
  if (isLimit) return /max_(completion_)?tokens/.test(prompt)
  return param === undefined && Object.keys(refused).some((name) => prompt.includes(name))
}

const optional = ['temperature', 'seed', 'stream_options'] as const

/** Returns what to change in the own parameters after a refusal; undefined when it is about something else. */
function refusedBy(
  { param, words }: ProviderReport,
  own: OwnParameters,
  { prompt, maxOutputTokens }: Completion,
): Partial<OwnParameters> | undefined {
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(param ?? words)
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
