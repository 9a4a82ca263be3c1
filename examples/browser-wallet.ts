// In a browser: the key stays in the user's wallet (EIP-1193), which signs the requests and sends the transactions.

import { createClient, type WalletProvider, walletAccount } from '../lib/client/mod.ts'

type Page = {
  readonly ethereum: WalletProvider
  readonly page: { readonly icl: string; readonly rpcUrl: string }
}

const { ethereum, page } = globalThis as unknown as Page
const [address = ''] = (await ethereum.request({ method: 'eth_requestAccounts' })) as string[]

const client = await createClient({
  icl: page.icl,
  rpcUrl: page.rpcUrl,
  account: walletAccount(ethereum, address),
})
const result = await client.infer('What does the harbour sell?', { model: 'openai:gpt-4o-mini' })
console.log(result.status === 'accepted' ? result.output : result.reason)
