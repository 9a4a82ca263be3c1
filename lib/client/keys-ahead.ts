/*
 * Problem: encrypting a prompt key with its proof and storing it on chain take most of the time before a job is submitted. Neither needs
 * the prompt.
 *
 * Idea: the client stores keys before there is a prompt, under terms that it fixes at that time. A job with exactly these terms takes one.
 *
 * Invariants: a key seals one prompt, because `take` removes it synchronously. It is in memory only.
 *
 * Failure cases: the ICL draws lists for a key for 1,800 s, from a pool that was current at most 300 s before the key's block. Older keys
 * are dropped. Whether the ICL accepts a key shows only when its list is asked for.
 */

import { newSealingKey } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { type ChosenTerms, chooseTerms, demandOf, type QuorumWish } from './choose-terms.ts'
import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'
import { encryptKey, storePromptKey } from './prompt-key.ts'

// Less than the ICL's 1,800 s, to allow for its clock and the time until the request.
const readySeconds = 1_500
const poolSeconds = 300

/** A stored key that has sealed nothing yet. */
export type KeyAhead = {
  readonly chosen: ChosenTerms
  readonly promptKey: Uint8Array<ArrayBuffer>
  readonly stored: StoredPromptKey
}

/** The keys that a client has stored ahead; times are the chain's, in Unix seconds. */
export type KeysAhead = {
  /** Stores a key for jobs like this. Throws SvcError `terms-refused` when that took over 300 s. */
  readonly store: (wish: QuorumWish, signal?: AbortSignal) => Promise<void>
  /** Removes and returns a key whose terms are exactly these. */
  readonly take: (wish: QuorumWish, now: number) => KeyAhead | undefined
  /** The number of keys for jobs like this. */
  readonly count: (wish: QuorumWish, now: number) => number
}

/** Makes an empty stock. */
export function createKeysAhead(context: ClientContext): KeysAhead {
  const { chain, network, random } = context
  let keys: readonly (KeyAhead & { readonly demand: string; readonly begunAt: number })[] = []
  const nameOf = (wish: QuorumWish) => JSON.stringify(demandOf(network, wish))
  const find = (wish: QuorumWish, now: number) => {
    keys = keys.filter(({ begunAt }) => now - begunAt < readySeconds)
    const demand = nameOf(wish)
    return keys.filter((key) => key.demand === demand)
  }
  return {
    store: async (wish, signal) => {
      const demand = nameOf(wish)
      const promptKey = newSealingKey(random)
      const { halves } = await encryptKey(context, promptKey, undefined, signal)
      // This follows the proof, so that the pool is as new as possible. The block comes later, so the key is younger than this.
      const begunAt = await chain.time(signal)
      const chosen = await chooseTerms(context, wish, signal)
      const stored = await storePromptKey(context, halves, chosen.terms, signal)
      const tookSeconds = (await chain.time(signal)) - begunAt
      if (tookSeconds > poolSeconds) throw outdated(tookSeconds)
      keys = [...keys, { chosen, promptKey, stored, demand, begunAt }]
    },
    take: (wish, now) => {
      const [key] = find(wish, now)
      keys = keys.filter((other) => other !== key)
      return key
    },
    count: (wish, now) => find(wish, now).length,
  }
}

const outdated = (seconds: number): SvcError =>
  new SvcError('terms-refused', `Storing the key took ${seconds} s: its pool is too old by now`, {
    hint: 'Store another one. If that fails too, check the chain RPC and the price of gas.',
    retryable: true,
  })
