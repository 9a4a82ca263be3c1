import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toHex, zeroAddress } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { checkPermit } from '../../../contracts/local/coprocessor/permit-check.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash, anAddress } from '../../branded.ts'

let server: Server | undefined
afterEach(() => server?.close())

const permit = {
  issuer: anAddress(zeroAddress),
  expiration: BigInt(Math.floor(Date.now() / 1000) + 3600),
  recipient: anAddress(zeroAddress),
  validatorId: 0n,
  validatorContract: anAddress(zeroAddress),
  sealingKey: aHash(toHex(1, { size: 32 })),
  issuerSignature: '0x',
  recipientSignature: '0x',
} as const

const check = (rpcUrl: string) => {
  const chain = createChainReader({ rpcUrl, chainId: localFheChainId, timeoutMs: 1_000 })
  return checkPermit(chain, systemClock, permit, 1n)
}

/** The URL of a stand-in for the chain's RPC that gives one answer to everything. */
const rpcThatSays = async (status: number, body: string): Promise<string> => {
  const listening = createServer((_request, response) => response.writeHead(status).end(body))
  server = listening
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve)
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

describe('when the access list cannot be asked', () => {
  it('says that the RPC limits requests', async () => {
    await expect(check(await rpcThatSays(429, ''))).rejects.toMatchObject({
      status: 429,
      code: 'rpc_rate_limited',
      retryAfterSeconds: 2,
    })
  })

  it('says that the RPC does not answer', async () => {
    const rpcUrl = await rpcThatSays(200, '')
    await new Promise((resolve) => server?.close(resolve))
    await expect(check(rpcUrl)).rejects.toMatchObject({ status: 503, code: 'rpc_unreachable' })
  })

  it('says that the RPC made a mess of it', async () => {
    const error = { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'oops' } }
    await expect(check(await rpcThatSays(200, JSON.stringify(error)))).rejects.toMatchObject({
      status: 502,
      code: 'acl_check_failed',
    })
  })
})
