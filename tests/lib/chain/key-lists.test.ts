import { type Hex, keccak256, toHex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import {
  commitList,
  endList,
  firstReaders,
  listOf,
  storeOutputKey,
} from '../../../lib/chain/key-lists.ts'
import { outputKeyOf } from '../../../lib/chain/output-key-of.ts'
import { ownerOf, storeKey } from '../../../lib/chain/prompt-key-store.ts'
import { Address, Hash32 } from '../../../lib/codecs.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { ACTIVATOR, createListedKeys, NODES, OWNER } from '../../contracts/listed-keys.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { eventsOf, startTestChain } from '../../contracts/test-chain.ts'
import { answerJson, startServer } from '../../local-server.ts'

const termsHash = Hash32.parse(keccak256('0x01'))

const chain = await startTestChain()
const keys = createKeyActions(chain)
const listed = createListedKeys(chain, keys)
for (const index of NODES) await keys.registerNode(index)
afterAll(() => chain.stop())

const by = (index: number) => ({ ...chain.wallet(index), contract: chain.promptKeyStore as Hex })
const read = (key: { readonly highHandle: bigint; readonly lowHandle: bigint }) =>
  listOf(chain.wallet(0), chain.promptKeyStore, key.highHandle, key.lowHandle)
const errorOf = async (work: Promise<unknown>) => {
  try {
    await work
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    return [error.code, `${error.message}. ${error.hint}`]
  }
  throw new Error('nothing was thrown')
}
const storeListed = async (mask: number) => {
  const { highHandle, lowHandle } = await storeKey({
    ...by(OWNER),
    ...(await keys.encryptAs(OWNER)),
    terms: termsHash,
  })
  const terms = await listed.newTerms()
  const key = { highHandle, lowHandle }
  await commitList({ ...by(OWNER), ...key, terms, mask })
  return { key, terms }
}

describe('a key with a list', () => {
  it('is stored with its terms, committed, used for an output key and ended', async () => {
    const stored = await storeKey({
      ...by(OWNER),
      ...(await keys.encryptAs(OWNER)),
      terms: termsHash,
    })
    const { publicClient } = chain.wallet(0)
    const receipt = await publicClient.getTransactionReceipt({ hash: stored.txHash })
    expect(eventsOf(receipt, promptKeyStoreAbi)).toMatchObject([
      { name: 'KeyStored', highHandle: stored.highHandle, terms: termsHash },
    ])
    expect(await read(stored)).toEqual({ commitment: undefined, used: 0, ended: false })

    const { key, terms } = await storeListed(0b11)
    const commitment = listCommitment(terms)
    expect(await read(key)).toEqual({ commitment, used: 0b11, ended: false })
    await endList({ ...by(OWNER), ...key })
    expect(await read(key)).toEqual({ commitment, used: 0b11, ended: true })

    const [node] = NODES
    const output = await storeOutputKey({
      ...by(node),
      ...(await keys.encryptAs(node)),
      ...{ promptHighHandle: key.highHandle, terms, self: 0, mask: 0b10 },
    })
    const { highHandle, lowHandle } = output
    const reader = chain.wallet(0)
    const owner = await ownerOf(reader, chain.promptKeyStore, highHandle, lowHandle)
    expect(owner).toBe(Address.parse(chain.addressOf(node)))
    const outputOf = (high: bigint, low: bigint) =>
      outputKeyOf(reader, chain.promptKeyStore, [high, low], output.block.number)
    const readers = [OWNER, NODES[1]].map((index) => Address.parse(chain.addressOf(index)))
    const promptHighHandle = key.highHandle
    expect(await outputOf(highHandle, lowHandle)).toEqual({ promptHighHandle, self: 0, readers })
    expect(await outputOf(highHandle, highHandle)).toBeUndefined()
    expect(await outputOf(key.highHandle, key.lowHandle)).toBeUndefined()
    expect(await keys.mayRead(output.lowHandle, NODES[1])).toBe(true)
    expect(await keys.mayRead(output.lowHandle, OWNER)).toBe(true)
    expect(await keys.mayRead(output.lowHandle, NODES[2])).toBe(false)
  })

  it('is refused with the error of the contract, and what to do', async () => {
    const { key, terms } = await storeListed(0b01)
    const again = { ...by(OWNER), ...key, terms, mask: 1 }
    const output = async (index: number, self: number, mask: number, opened = terms) => {
      const halves = await keys.encryptAs(index)
      const prompt = { promptHighHandle: key.highHandle, terms: opened, self, mask }
      return await errorOf(storeOutputKey({ ...by(index), ...halves, ...prompt }))
    }
    const [seated, unseated] = NODES
    expect(await errorOf(commitList(again))).toEqual([
      'commit-list-reverted',
      'commitList reverted: ListAlreadyCommitted. Store another key, and commit the list before anything else.',
    ])
    expect(await errorOf(endList({ ...by(ACTIVATOR), ...key }))).toEqual([
      'end-list-reverted',
      'endList reverted: NotAuthorized. The PromptKeyStore contract documents this error.',
    ])
    expect(await output(seated, 0, 1, { ...terms, until: terms.until + 1 })).toEqual([
      'store-key-reverted',
      'storeKey reverted: WrongList. Give job, activator, end and list as they were committed. Only the activator can activate.',
    ])
    expect(await output(unseated, 0, 1)).toEqual([
      'store-key-reverted',
      'storeKey reverted: NotOnList. Give a position of the list. For an output key, it is the position of this wallet.',
    ])
    expect(await output(seated, 0, 2)).toEqual([
      'store-key-reverted',
      'storeKey reverted: NotActivated. The activator has to give these nodes access to the prompt key first.',
    ])
  })

  it('is not taken for committed by an address without a contract', async () => {
    const { key, terms } = await storeListed(0b01)
    const contract = `0x${'0c'.repeat(20)}` as const
    expect(await errorOf(commitList({ ...by(OWNER), ...key, contract, terms, mask: 1 }))).toEqual([
      'commit-list-reverted',
      'commitList reverted: no list was committed. Check the PromptKeyStore address.',
    ])
  })

  // The last, because it sets the chain's clock ahead.
  it('is found with its output key weeks later, by an RPC that searches 7 blocks at once', async () => {
    const { key, terms } = await storeListed(0b11)
    const [node] = NODES
    const output = await storeOutputKey({
      ...{ ...by(node), ...(await keys.encryptAs(node)) },
      ...{ promptHighHandle: key.highHandle, terms, self: 0, mask: 0b10 },
    })
    const { publicClient } = chain.wallet(0)
    const from = (await publicClient.getBlockNumber({ cacheTime: 0 })) - 10n
    const mine = (count: number, seconds: number) =>
      publicClient.request({
        method: 'anvil_mine',
        params: [toHex(count), toHex(seconds)],
      } as never)
    const ranges: number[] = []
    const rpc = await startServer(async (response, { body }) => {
      const call = JSON.parse(body)
      if (call.method === 'eth_getLogs') {
        const [{ fromBlock, toBlock }] = call.params
        const last = toBlock === 'latest' ? await publicClient.getBlockNumber() : Number(toBlock)
        ranges.push(Number(last) - Number(fromBlock) + 1)
        if (ranges.at(-1)! > 7) {
          const error = { code: -32_000, message: 'query exceeds max block range 7' }
          return answerJson(response, 200, { jsonrpc: '2.0', id: call.id, error })
        }
      }
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(chain.anvil.rpcUrl, { method: 'POST', body, headers })
      answerJson(response, 200, await answer.json())
    })
    try {
      await mine(100, 86_400)
      const reader = createChainWriter({
        ...{ rpcUrl: rpc.url, chainId: chain.anvil.chainId },
        account: chain.wallet(0).walletClient.account,
      })
      const store = chain.promptKeyStore
      const handles = [key.highHandle, key.lowHandle] as const
      expect(await firstReaders(reader, store, handles, from)).toBe(0b11)
      const outputs = [output.highHandle, output.lowHandle] as const
      expect(await outputKeyOf(reader, store, outputs, from)).toMatchObject({ self: 0 })
      // The search ends a day after the key was stored.
      ranges.length = 0
      expect(await firstReaders(reader, store, [1n, 2n], from)).toBeUndefined()
      expect(ranges.length).toBeLessThan(20)
    } finally {
      await rpc.close()
    }
  })
})
