import { parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fundWallet } from '../demo/fund-wallet.ts'
import type { LocalChain } from '../demo/local-chain.ts'
import { createChainWriter } from '../lib/chain/clients.ts'
import { type Client, createClient } from '../lib/client/client.ts'

/** A client of an ICL on a local chain, with a funded wallet of its own. */
export async function fundedClient(chain: LocalChain, icl: string): Promise<Client> {
  const { rpcUrl, chainId, funder, contracts } = chain
  const account = privateKeyToAccount(generatePrivateKey())
  const writer = createChainWriter({ rpcUrl, chainId, account: funder })
  await fundWallet(writer, account.address, parseEther('10'))
  return createClient({
    ...{ icl, rpcUrl, account },
    contracts: {
      node_registry: contracts.nodeRegistry,
      prompt_key_store: contracts.promptKeyStore,
      result_registry: contracts.resultRegistry,
    },
  })
}
