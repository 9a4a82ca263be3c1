import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { createClientChain } from '../../../lib/client/client-chain.ts'
import { endList } from '../../../lib/client/prompt-key.ts'
import { ACTIVATOR, createListedKeys, NODES, OWNER } from '../../contracts/listed-keys.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { revertOf, startTestChain } from '../../contracts/test-chain.ts'
import { sampleNetwork } from '../../sample-network.ts'

const chain = await startTestChain()
const keys = createKeyActions(chain)
const listed = createListedKeys(chain, keys)
for (const index of NODES) await keys.registerNode(index)
afterAll(() => chain.stop())

const clientOf = (index: number) => {
  const { rpcUrl, chainId, accounts } = chain.anvil
  const network = sampleNetwork({ chain_id: chainId })
  const contracts = { ...network.contracts, prompt_key_store: chain.promptKeyStore }
  const account = privateKeyToAccount(accounts[index]!.privateKey)
  return { chain: createClientChain({ rpcUrl, network: { ...network, contracts }, account }) }
}

describe('a client that ends a list', () => {
  it('lets no further node in, and takes nothing from those that are', async () => {
    const { high, low, terms, list, until } = await listed.commit(0b001)
    const handles = { highHandle: high, lowHandle: low }
    const activate = (index: number) =>
      keys.as(ACTIVATOR, 'activate', [high, low, terms.jobId, list, until, index])
    await activate(1)
    await endList(clientOf(OWNER), handles)
    expect(await revertOf(activate(2))).toEqual(['ListHasEnded', high])
    expect([await keys.mayRead(high, NODES[1]), await keys.mayRead(high, NODES[2])]).toEqual([
      true,
      false,
    ])
    // Again is harmless.
    await endList(clientOf(OWNER), handles)
  })

  it('has to own the key', async () => {
    const { high, low } = await listed.commit(0b001)
    await expect(
      endList(clientOf(ACTIVATOR), { highHandle: high, lowHandle: low }),
    ).rejects.toMatchObject({ code: 'end-list-reverted' })
  })
})
