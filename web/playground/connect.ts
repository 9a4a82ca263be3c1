import type { LocalAccount } from 'viem'
import { walletAccount } from '../../lib/chain/wallet-account.ts'
import { type Client, createClient } from '../../lib/client/client.ts'
import type { SecretMemory } from '../../lib/client/own-secret.ts'
import type { Network } from '../../lib/schemas/network.ts'
import type { PlaygroundSettings } from '../../lib/schemas/playground.ts'
import type { Assets } from './assets.ts'
import { makeThrowAwayAccount } from './throw-away-key.ts'
import { accountOf, type OfferedWallet } from './wallets.ts'
import { createWorkerCoprocessor } from './worker-coprocessor.ts'

/** The ICL, its network and the page's settings. */
export type Place = {
  readonly icl: string
  readonly network: Network
  readonly settings: PlaygroundSettings
  readonly assets: Assets
}

/** The wallet that pays and reads, or undefined for a throw-away account. */
export type AccountChoice = OfferedWallet | undefined

/** A client, with a function that ends its worker. */
export type Connection = { readonly client: Client; readonly stop: () => void }

/** Connects an account to the ICL that serves this page; throws SvcError with a remedy. */
export async function connect(place: Place, choice: AccountChoice): Promise<Connection> {
  const { icl, network, settings, assets } = place
  const account: LocalAccount = choice
    ? walletAccount(choice.provider, await accountOf(choice))
    : await makeThrowAwayAccount(network.chain_id, settings.rpc_url)
  const coprocessor = createWorkerCoprocessor(
    new Worker(assets.coprocessorWorker, { type: 'module' }),
    account,
    {
      rpcUrl: settings.rpc_url,
      chainId: network.chain_id,
      address: account.address,
      coprocessor: settings.coprocessor,
      proveWorkerUrl: assets.proveWorker,
      wasmUrl: assets.wasm,
    },
  )
  try {
    const client = await createClient({
      ...{ icl, rpcUrl: settings.rpc_url, account, coprocessor },
      // A throw-away key leaves nothing behind.
      ...(choice && { secretMemory: memoryOf(`svc-secret ${icl} ${account.address}`) }),
    })
    return { client, stop: coprocessor.stop }
  } catch (error) {
    coprocessor.stop()
    throw error
  }
}

/** Keeps a text in this browser. A browser that keeps nothing makes the wallet ask its user once more. */
const memoryOf = (name: string): SecretMemory => ({
  read: () => {
    try {
      return localStorage.getItem(name)
    } catch {
      return undefined
    }
  },
  write: (check) => {
    try {
      localStorage.setItem(name, check)
    } catch {}
  },
})
