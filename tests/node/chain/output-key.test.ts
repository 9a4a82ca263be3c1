import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { Address } from '../../../lib/codecs.ts'
import type { OutputKey } from '../../../node/chain/chain.ts'
import { createNodeChain } from '../../../node/chain/contracts.ts'
import { codeOf } from '../../code-of.ts'
import {
  ACTIVATOR,
  createListedKeys,
  IDLE,
  NODES,
  OWNER,
  STRANGER,
} from '../../contracts/listed-keys.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { startTestChain } from '../../contracts/test-chain.ts'

const [DELIVERER, CHECKER, LATE_CHECKER] = NODES

const chain = await startTestChain()
const keys = createKeyActions(chain)
for (const index of NODES) await keys.registerNode(index)
const prompt = await createListedKeys(chain, keys).commit(0b0011)
afterAll(() => chain.stop())

const nodeChain = () =>
  createNodeChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(chain.anvil.accounts[DELIVERER]!.privateKey),
    nodeRegistry: Address.parse(chain.nodeRegistry),
    promptKeyStore: Address.parse(chain.promptKeyStore),
  })
const keyFor = async (checkers: readonly number[]): Promise<OutputKey> => ({
  ...(await keys.encryptAs(DELIVERER)),
  ...prompt.terms,
  promptHigh: prompt.high,
  self: 0,
  checkers,
})

describe('the output key of a node that delivers', () => {
  it('is open to the node, the client and the checkers at their positions', async () => {
    const { high, low, list, until, terms } = prompt
    await keys.as(ACTIVATOR, 'activate', [high, low, terms.jobId, list, until, 2])
    const stored = await nodeChain().storeOutputKey(await keyFor([2, 1]))
    for (const handle of [stored.highHandle, stored.lowHandle]) {
      for (const index of [OWNER, ...NODES]) {
        expect([index, await keys.mayRead(handle, index)]).toEqual([index, true])
      }
      for (const index of [ACTIVATOR, IDLE, STRANGER]) {
        expect([index, await keys.mayRead(handle, index)]).toEqual([index, false])
      }
    }
    const alone = await nodeChain().storeOutputKey(await keyFor([1]))
    expect(await keys.mayRead(alone.highHandle, CHECKER)).toBe(true)
    expect(await keys.mayRead(alone.highHandle, LATE_CHECKER)).toBe(false)
  })

  it('is refused for a list that is not the one on chain, and for a checker that cannot read the prompt', async () => {
    const { storeOutputKey } = nodeChain()
    const key = await keyFor([1])
    for (const changes of [{ until: key.until + 1 }, { self: 1 }, { checkers: [3] }]) {
      expect(await codeOf(storeOutputKey({ ...key, ...changes }))).toBe('store-key-reverted')
    }
    // Nothing was stored before: the same halves still can be.
    await storeOutputKey(key)
  })
})
