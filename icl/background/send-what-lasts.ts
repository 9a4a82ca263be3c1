import type { Chain } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Store } from '../store/store.ts'
import { wrapped } from '../wrapped.ts'

/** Which calls of the chain send something. */
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
 * The dependencies for background work. It sends to the chain or to a client's server only once all earlier saves are durable, and only
 * while the signal of the call has not aborted. The term aborts when saves are lost (leadership.ts), so nothing that is sent depends on them.
 */
export const sendWhatLasts = (deps: Dependencies): Dependencies => ({
  ...deps,
  chain: sendingLater(deps.store, deps.chain, (name) => sends[name]),
  ...(deps.webhooks && {
    webhooks: sendingLater(deps.store, deps.webhooks, (name) => name === 'send'),
  }),
})

const sendingLater = <T extends object>(
  { commits }: Store,
  port: T,
  isSend: (name: keyof T) => boolean,
): T =>
  wrapped(port, (call, name) =>
    isSend(name as keyof T)
      ? async (...args) => {
          await commits.barrier()()
          for (const arg of args) if (arg instanceof AbortSignal) arg.throwIfAborted()
          return await call(...args)
        }
      : call,
  )
