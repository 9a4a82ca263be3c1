import type { Chain } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Store } from '../store/store.ts'

/** Which calls tell the chain something: one that is new has to be put here. */
const sends: Readonly<Record<keyof Chain, boolean>> = {
  coordinator: false,
  ping: false,
  latestBlock: false,
  nodeOf: false,
  nodesOf: false,
  outputKeyOf: false,
  storedKeyAt: false,
  listOf: false,
  activate: true,
  isAllowed: false,
  findCommitment: false,
  commitResults: true,
  slashOf: false,
  proposeSlash: true,
  executeSlash: true,
  findFaults: false,
}

/**
 * The dependencies for background work: what it sends, to the chain or to a client's server, goes out once all that was saved
 * before lasts, and not at all once the signal of its call has aborted. The term of the work aborts when saves are lost
 * (leadership.ts), so that nothing is sent that rests on them.
 */
export const sendWhatLasts = (deps: Dependencies): Dependencies => ({
  ...deps,
  chain: sendingLater(deps.store, deps.chain, (name) => sends[name]),
  ...(deps.webhooks && {
    webhooks: sendingLater(deps.store, deps.webhooks, (name) => name === 'send'),
  }),
})

function sendingLater<T extends object>(
  { commits }: Store,
  port: T,
  isSend: (name: keyof T) => boolean,
): T {
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || !isSend(name as keyof T)) return value
      return async (...args: unknown[]) => {
        await commits.barrier()()
        for (const arg of args) if (arg instanceof AbortSignal) arg.throwIfAborted()
        return await value.apply(target, args)
      }
    },
  })
}
