import type { Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'

/** Hono's router for any paths, with a map for the named paths of a table, which it asks only once for each method. */
export class TableRouter<T> implements Router<T> {
  readonly name = 'TableRouter'
  readonly #all = new TrieRouter<T>()
  readonly #known = new Map<string, Result<T>>()
  readonly #named: ReadonlySet<string>

  constructor(named: ReadonlySet<string>) {
    this.#named = named
  }

  add(method: string, path: string, handler: T): void {
    this.#all.add(method, path, handler)
    this.#known.clear()
  }

  match(method: string, path: string): Result<T> {
    // Other paths are of callers' making, and would fill the memory.
    if (!this.#named.has(path)) return this.#all.match(method, path)
    const name = `${method} ${path}`
    const known = this.#known.get(name)
    if (known) return known
    const found = this.#all.match(method, path)
    if (found[0].length > 0) this.#known.set(name, found)
    return found
  }
}
