import type { Clock } from '../lib/clock.ts'

/** Reads at most every `ms` milliseconds, however many ask. */
export function rarely<T>(clock: Clock, ms: number, read: () => Promise<T>): () => Promise<T> {
  let known: { readonly at: number; readonly value: Promise<T> } | undefined
  return () => {
    const now = clock.now()
    if (!known || now - known.at >= ms) known = { at: now, value: read() }
    return known.value
  }
}
