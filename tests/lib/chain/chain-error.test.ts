import { encodeErrorResult } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { isRevert, revertNameOf, toChainError } from '../../../lib/chain/chain-error.ts'
import { createChainReader, createChainWriter } from '../../../lib/chain/clients.ts'
import { sendCall } from '../../../lib/chain/send.ts'
import { isAllowed } from '../../../lib/chain/task-manager.ts'
import { type LocalServer, startServer } from '../../local-server.ts'
import { type RpcAnswer, startRpcStandIn } from './rpc-stand-in.ts'

const contract = `0x${'0c'.repeat(20)}` as const
let rpc: LocalServer
afterEach(() => rpc.close())

const writerOn = async (answers: Readonly<Record<string, RpcAnswer>>) => {
  rpc = await startRpcStandIn(answers)
  const account = privateKeyToAccount(`0x${'17'.repeat(32)}`)
  return createChainWriter({ rpcUrl: rpc.url, chainId: 31_337, account })
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => new Error('did not fail'),
    (error: Error) => error,
  )

/** What sending a call fails with when the chain refuses the transaction. */
async function sendFailure(error: object) {
  const writer = await writerOn({ eth_sendRawTransaction: { error } })
  const abi = promptKeyStoreAbi
  return await failureOf(
    sendCall(writer, { to: contract, data: '0x', abi, functionName: 'storeKey' }),
  )
}

describe('a failure of the chain RPC inside (-32603)', () => {
  const internal = { code: -32_603, message: 'internal error of the RPC' }

  it('is not told as a revert of the contract', async () => {
    const writer = await writerOn({ eth_call: { error: internal } })
    const error = await failureOf(isAllowed(writer, 5n, contract))
    expect(error).toMatchObject({ code: 'chain-rpc-failed', retryable: true })
    expect(error.message).toBe(
      'reading access rights: the chain RPC fails inside (internal error of the RPC)',
    )
  })

  it('is none of a call either, unless it says that the call reverted', async () => {
    const estimate = async (error: object) => {
      const writer = await writerOn({ eth_estimateGas: { error } })
      const call = { to: contract, data: '0x', abi: promptKeyStoreAbi, functionName: 'storeKey' }
      const failure = await failureOf(sendCall(writer, call as Parameters<typeof sendCall>[1]))
      await rpc.close()
      return [isRevert(failure), revertNameOf(failure), toChainError(failure, 'x')] as const
    }
    const data = encodeErrorResult({
      abi: promptKeyStoreAbi,
      errorName: 'InvalidHandle',
      args: [7n],
    })
    expect((await estimate(internal)).slice(0, 2)).toEqual([false, undefined])
    expect((await estimate({ ...internal, data })).slice(0, 2)).toEqual([true, 'InvalidHandle'])
    const [reverted, , error] = await estimate({ code: -32_603, message: 'execution reverted: no' })
    expect([reverted, (error as { code: string }).code]).toEqual([true, 'chain-reverted'])
  })
})

it.each([
  [401, '{"error":"Must be authenticated!"}', /^looking: the chain RPC responds with HTTP 401$/],
  [200, '<html>Log in</html>', /^looking: the chain RPC responds with no JSON$/],
])(
  'a server that is no RPC, or refuses the key, is not said to be silent: HTTP %d',
  async (status, body, words) => {
    rpc = await startServer((response) => void response.writeHead(status).end(body))
    const reader = createChainReader({ rpcUrl: rpc.url, chainId: 31_337 })
    const error = toChainError(await failureOf(reader.publicClient.getChainId()), 'looking')
    expect(error).toMatchObject({ code: 'chain-unavailable', retryable: true })
    expect(error.message).toMatch(words)
  },
)

it.each([
  [-32_003, 'Insufficient funds for gas * price + value', 'chain-wallet-empty', /cannot pay/],
  [-32_000, 'insufficient funds for transfer', 'chain-wallet-empty', /cannot pay for its gas/],
  [-32_003, 'max fee per gas less than block base fee', 'chain-fees-too-low', /gas price rose/],
  [-32_000, 'transaction underpriced', 'chain-fees-too-low', /gas price rose/],
  [
    -32_003,
    'gas limit is too high',
    'chain-unavailable',
    /^sending: Transaction creation failed\./,
  ],
])(
  "a transaction that the chain refuses: %d %s: says why, in its own words and the RPC's",
  async (code, message, wanted, words) => {
    const error = toChainError(await sendFailure({ code, message }), 'sending')
    expect(error).toMatchObject({ code: wanted, retryable: true })
    expect(error.message).toMatch(words)
    expect(error.message).toContain(message)
  },
)
