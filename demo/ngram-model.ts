/*
 * Problem: whether numbers of `teacher/1` tell models apart can only be tried with log-probabilities, and no large model runs here.
 *
 * Idea: a small language model, a real one: counts of what follows what in a text, mixed over the lengths of the context by Witten and
 * Bell's rule. It answers greedily, as a hosted model does at temperature 0, and gives a probability to every token of any text.
 * Two runs differ as those of hosted models do: each has a small noise of its own on the logarithms, and parts from the other at near ties.
 *
 * Invariants: noise follows from the run's name and the context, so that one run always says the same. Tokens of a text join to that text.
 *
 * A greedy model of counts would go round in circles. So a token is made less likely for each time that it followed the same token before
 * in the answer.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenTold } from '../lib/teacher.ts'

/** A text as the model reads it: words with the white space before them, single digits and signs. */
export const tokensOf = (text: string): readonly string[] =>
  text.match(/\s*\p{L}+|\s*\S|\s+/gu) ?? []

/** How often each token follows a context. */
type Followers = { readonly counts: Map<string, number>; total: number }

/** Counts of a text, for contexts of up to `order` - 1 tokens. */
export type NgramModel = {
  readonly order: number
  readonly contexts: ReadonlyMap<string, Followers>
  /** The most frequent tokens, that may follow anything. */
  readonly frequent: readonly string[]
  /** What a token is given that was never seen. */
  readonly unseen: number
}

const frequentTokens = 40
const contextOf = (tokens: readonly string[]): string => tokens.join('\u0000')

/** Counts what follows what in a text. */
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

/** What a run of a model does with its log-probabilities. */
export type Run = {
  /** Whose noise it is. */
  readonly name: string
  /** The greatest noise, in nats. */
  readonly noise: number
  /** To multiples of which they are rounded, in nats: what a quantized model does. */
  readonly step?: number
}

/** The probability of a token after a context: that after the whole context, and as much of those after shorter ones as it is often followed by new tokens. */
function probabilityOf(model: NgramModel, before: readonly string[], token: string): number {
  let probability = model.unseen
  for (let length = 0; length < model.order && length <= before.length; length++) {
    const followers = model.contexts.get(contextOf(before.slice(before.length - length)))
    if (!followers) break
    const kinds = followers.counts.size
    const seen = followers.counts.get(token) ?? 0
    probability = (seen + kinds * probability) / (followers.total + kinds)
  }
  return probability
}

const lessForEach = 2

/** What a run says of the token after a prompt and the beginning of an answer, the likeliest first; `given` is among what is told. */
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
  for (let length = 1; length <= before.length; length++) {
    const followers = model.contexts.get(contextOf(before.slice(before.length - length)))
    for (const token of followers?.counts.keys() ?? []) candidates.add(token)
  }
  const again = new Map<string, number>()
  for (const [at, token] of answer.entries()) {
    if (at > 0 && answer[at - 1] === last) again.set(token, (again.get(token) ?? 0) + 1)
  }
  const seed = hashOf(`${name}\u0000${contextOf(before)}\u0000`)
  const told = [...candidates].map((token) => {
    const logprob =
      Math.log(probabilityOf(model, before, token)) -
      lessForEach * (again.get(token) ?? 0) +
      noise * (hashOf(token, seed) / 0x7fffffff - 1)
    const rounded = step === undefined ? logprob : Math.round(logprob / step) * step
    return { token, logprob: Math.min(0, rounded) }
  })
  return told.toSorted((a, b) => b.logprob - a.logprob || (a.token < b.token ? -1 : 1))
}

/** 32 bits of a text (FNV-1a, mixed): noise, and no secret. */
function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** A prompt as it is continued: without the sign at its end. */
const contextOfPrompt = (prompt: string): readonly string[] =>
  tokensOf(prompt.trim().replace(/[\s\p{P}]+$/u, ''))

/** The answer of a run to a prompt, of so many tokens: the likeliest each time, after what is there already. */
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

/** What a run says of each token of a given answer. */
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

/** What the models are made of: prose of this repository's pages as it was once. It is not brought up to date, so that figures do not move. */
export async function trainingText(): Promise<string> {
  const text = await readFile(join(import.meta.dirname, 'ngram-text.txt'), 'utf8')
  return text.replace(/\s+/g, ' ')
}
