/*
 * Problem: to try whether the scores of `teacher/1` tell models apart takes log-probabilities, and no large model runs here.
 * Idea: count the tokens that follow a context in a text, and mix the lengths of the context by the rule of Witten and Bell. The model answers
 * greedily. Each run adds its own small noise to the logarithms, so that runs diverge at near ties as those of hosted models do. A token
 * becomes less likely each time that it followed the same token, because a greedy model would go round in a circle.
 * Invariants: a run always repeats itself: its noise depends on its name and the context only. The tokens of a text join to that text.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenTold } from '../lib/teacher.ts'

/** Splits a text as the model reads it: words with the white space before them, single digits and signs. */
export const tokensOf = (text: string): readonly string[] =>
  text.match(/\s*\p{L}+|\s*\S|\s+/gu) ?? []

/** How often each token follows a context. */
type Followers = { readonly counts: Map<string, number>; total: number }

/** Counts from a text, for contexts of up to `order` - 1 tokens. */
export type NgramModel = {
  readonly order: number
  readonly contexts: ReadonlyMap<string, Followers>
  /** The most frequent tokens, which may follow any context. */
  readonly frequent: readonly string[]
  /** The probability of an unseen token. */
  readonly unseen: number
}

const frequentTokens = 40
const contextOf = (tokens: readonly string[]): string => tokens.join('\u0000')

/** Counts which token follows each context in a text. */
export function trainNgrams(text: string, order: number): NgramModel {
  const tokens = tokensOf(text)
  const contexts = new Map<string, Followers>()
  for (const [at, token] of tokens.entries()) {
    for (let length = 0; length < order && length <= at; length++) {
      const name = contextOf(tokens.slice(at - length, at))
      const followers = contexts.get(name) ?? { counts: new Map(), total: 0 }
      followers.counts.set(token, (followers.counts.get(token) ?? 0) + 1)
      followers.total++
      contexts.set(name, followers)
    }
  }
  const all = [...(contexts.get('')?.counts ?? [])].toSorted((a, b) => b[1] - a[1])
  const frequent = all.slice(0, frequentTokens).map(([token]) => token)
  return { order, contexts, frequent, unseen: 1 / (2 * (tokens.length + 1)) }
}

/** A run, which changes the model's log-probabilities. */
export type Run = {
  /** The name, from which the noise follows. */
  readonly name: string
  /** The largest noise, in nats. */
  readonly noise: number
  /** Rounds to multiples of this, in nats, as a quantized model does. */
  readonly step?: number
}

/** What followed the end of a text, from no context to the longest that the model knows. */
function followersOf(model: NgramModel, before: readonly string[]): readonly Followers[] {
  const found: Followers[] = []
  for (let length = 0; length < model.order && length <= before.length; length++) {
    const followers = model.contexts.get(contextOf(before.slice(before.length - length)))
    if (!followers) break
    found.push(followers)
  }
  return found
}

/** A token's probability after contexts. Shorter ones count the more, the more kinds of tokens follow the longer one. */
function probabilityOf(
  { unseen }: NgramModel,
  contexts: readonly Followers[],
  token: string,
): number {
  let probability = unseen
  for (const { counts, total } of contexts) {
    const kinds = counts.size
    probability = ((counts.get(token) ?? 0) + kinds * probability) / (total + kinds)
  }
  return probability
}

const lessForEach = 2

/** Returns a run's tokens after a prompt and the beginning of an answer, likeliest first. `given` is always among them. */
function after(
  model: NgramModel,
  { name, noise, step }: Run,
  prompt: readonly string[],
  answer: readonly string[],
  given?: string,
): readonly { readonly token: string; readonly logprob: number }[] {
  const before = [...prompt.slice(-model.order), ...answer.slice(-model.order)].slice(
    1 - model.order,
  )
  const last = answer.at(-1)
  const candidates = new Set(model.frequent)
  if (given !== undefined) candidates.add(given)
  const contexts = followersOf(model, before)
  for (const { counts } of contexts.slice(1)) {
    for (const token of counts.keys()) candidates.add(token)
  }
  const again = new Map<string, number>()
  for (const [at, token] of answer.entries()) {
    if (at > 0 && answer[at - 1] === last) again.set(token, (again.get(token) ?? 0) + 1)
  }
  const seed = hashOf(`${name}\u0000${contextOf(before)}\u0000`)
  const told = [...candidates].map((token) => {
    const logprob =
      Math.log(probabilityOf(model, contexts, token)) -
      lessForEach * (again.get(token) ?? 0) +
      noise * (hashOf(token, seed) / 0x7fffffff - 1)
    const rounded = step === undefined ? logprob : Math.round(logprob / step) * step
    return { token, logprob: Math.min(0, rounded) }
  })
  return told.toSorted((a, b) => b.logprob - a.logprob || (a.token < b.token ? -1 : 1))
}

/** Hashes a text to 32 bits (FNV-1a, mixed), for noise and not for secrets. */
function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** A prompt to continue: without the sign at its end. */
const contextOfPrompt = (prompt: string): readonly string[] =>
  tokensOf(prompt.trim().replace(/[\s\p{P}]+$/u, ''))

/** Returns a run's answer of `length` tokens: the likeliest token each time, after the given beginning. */
export function answerOf(
  model: NgramModel,
  run: Run,
  prompt: string,
  length: number,
  begun: readonly string[] = [],
): readonly string[] {
  const context = contextOfPrompt(prompt)
  const answer = [...begun]
  while (answer.length < length) {
    const [first] = after(model, run, context, answer)
    if (!first) break
    answer.push(first.token)
  }
  return answer
}

/** Returns a run's log-probabilities for each token of a given answer. */
export function weighed(
  model: NgramModel,
  run: Run,
  prompt: string,
  answer: readonly string[],
): readonly TokenTold[] {
  const context = contextOfPrompt(prompt)
  return answer.map((token, at) => {
    const told = after(model, run, context, answer.slice(0, at), token)
    const own = told.find((one) => one.token === token)
    return { logprob: own?.logprob ?? -20, top: told.slice(0, 5) }
  })
}

/** Reads the training text: an old version of this repository's pages. It must not change, because published figures depend on it. */
export async function trainingText(): Promise<string> {
  const text = await readFile(join(import.meta.dirname, 'ngram-text.txt'), 'utf8')
  return text.replace(/\s+/g, ' ')
}
