import { pad, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createViemChain, type ViemChainOptions } from '../../../icl/chain/viem.ts'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash, anAddress } from '../../branded.ts'
import {
  DAY_S,
  MIN_STAKE,
  send,
  startTestChain,
  type TestChain,
} from '../../contracts/test-chain.ts'
import { searching } from './few-blocks.ts'

const coordinator = 1
const arbiter = 2
const node = 5
const stranger = 7

let chain: TestChain
beforeAll(async () => {
  chain = await startTestChain()
  await as(node, 'register', [[0]], MIN_STAKE)
}, 60_000)
afterAll(() => chain.stop())

const as = (index: number, functionName: string, args: readonly unknown[], value?: bigint) =>
  send(chain.wallet(index), {
    address: chain.nodeRegistry,
    abi: nodeRegistryAbi,
    functionName,
    args,
    ...(value !== undefined && { value }),
  })

const adapter = (sender = coordinator, changes: Partial<ViemChainOptions> = {}) =>
  createViemChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(chain.anvil.accounts[sender]!.privateKey),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
    ...changes,
  })

const faultId = (index: number): Hash32 => aHash(pad(toHex(index), { size: 32 }))
const evidenceHash: Hash32 = aHash(pad('0xee', { size: 32 }))
const answerHash: Hash32 = aHash(pad('0xaa', { size: 32 }))
const proposal = (index: number, operator = node) => ({
  faultId: faultId(index),
  operator: anAddress(chain.addressOf(operator)),
  amountWei: 1_000n,
  evidenceHash,
})

describe('a slash on chain', () => {
  it('is proposed once, answered, and executed when the time to answer has passed', async () => {
    const icl = adapter()
    expect(await icl.slashOf(faultId(1))).toEqual({ state: 'absent' })
    expect(await icl.proposeSlash(proposal(1))).toMatch(/^0x/)
    expect(await icl.proposeSlash(proposal(1))).toBeUndefined()
    const open = await icl.slashOf(faultId(1))
    expect(open).toMatchObject({ state: 'proposed', amountWei: 1_000n, evidenceHash })
    expect('answerHash' in open).toBe(false)
    await as(node, 'answer', [faultId(1), answerHash])
    expect(await icl.slashOf(faultId(1))).toMatchObject({ state: 'proposed', answerHash })
    // Too early by the chain's clock is nothing to be told of.
    expect(await icl.executeSlash(faultId(1))).toBeUndefined()
    await chain.increaseTime(3 * DAY_S + 1)
    const tx = await icl.executeSlash(faultId(1))
    expect(await icl.slashOf(faultId(1))).toEqual({ state: 'executed', tx, takenWei: 1_000n })
    expect(await icl.executeSlash(faultId(1))).toBeUndefined()
  })

  it('that the arbiter has cancelled is found as such, and not executed', async () => {
    const icl = adapter()
    await icl.proposeSlash(proposal(2))
    await as(arbiter, 'cancelSlash', [faultId(2)])
    await chain.increaseTime(3 * DAY_S + 1)
    expect(await icl.executeSlash(faultId(2))).toBeUndefined()
    expect(await icl.slashOf(faultId(2))).toMatchObject({ state: 'cancelled' })
  })

  it('is found as settled also by an RPC that searches one block at a time', async () => {
    await adapter().proposeSlash(proposal(5))
    await as(arbiter, 'cancelSlash', [faultId(5)])
    await chain.increaseTime(1)
    const icl = adapter(coordinator, { rpcFetch: searching(1) })
    expect(await icl.slashOf(faultId(5))).toMatchObject({ state: 'cancelled' })
  })

  it('is settled only once that is as deep as the operator asks', async () => {
    const icl = adapter(coordinator, { confirmations: 3 })
    await icl.proposeSlash(proposal(3))
    await as(arbiter, 'cancelSlash', [faultId(3)])
    expect(await icl.slashOf(faultId(3))).toEqual({ state: 'shallow' })
    await chain.increaseTime(1)
    await chain.increaseTime(1)
    expect(await icl.slashOf(faultId(3))).toMatchObject({ state: 'cancelled' })
  })

  it.each([
    [
      'by an account without the role',
      [stranger, node],
      'chain-reverted',
      'MissingRole',
      'coordinator role',
    ],
    [
      'of a node that is not registered',
      [coordinator, stranger],
      'stake-gone',
      'NotRegistered',
      'has left',
    ],
  ] as const)(
    '%s is refused in words for the operator',
    async (_, [sender, accused], code, why, hint) => {
      const refused = adapter(sender).proposeSlash(proposal(4, accused))
      await expect(refused).rejects.toMatchObject({
        code,
        retryable: true,
        message: expect.stringContaining(why),
        hint: expect.stringContaining(hint),
      })
    },
  )
})
