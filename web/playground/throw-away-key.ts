import { createTestClient, type LocalAccount, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { rpcTransport } from '../../lib/chain/clients.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { isLocalChain } from './chains.ts'

const funds = parseEther('1')

/** Makes an account that ends with the page, and has the local chain fund it; throws SvcError `chain-not-local` or `funding-failed`. */
export async function makeThrowAwayAccount(chainId: number, rpcUrl: string): Promise<LocalAccount> {
  if (!isLocalChain(chainId, rpcUrl)) {
    throw new SvcError('chain-not-local', `Chain ${chainId} is not a local one`, {
      hint: 'Use a wallet.',
    })
  }
  const account = privateKeyToAccount(generatePrivateKey())
  const chain = createTestClient({ mode: 'anvil', transport: rpcTransport({ rpcUrl, chainId }) })
  try {
    await chain.setBalance({ address: account.address, value: funds })
  } catch (cause) {
    throw new SvcError('funding-failed', 'The local chain gave the new account no money', {
      hint: 'Check that the chain is an anvil and still running.',
      cause,
    })
  }
  return account
}
