import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash } from '../../branded.ts'
import { DAY_S, startTestChain } from '../../contracts/test-chain.ts'
import { hurriedClock } from './hurried-clock.ts'

type Answer = { readonly status?: number; readonly body?: (id: unknown) => unknown } | 'silence'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const startRpc = async (answer: Answer): Promise<string> => {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (answer === 'silence') return
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body?.((JSON.parse(text) as { id: unknown }).id) ?? {}))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const coprocessorAt = (rpcUrl: string, clock: Clock = systemClock, timeoutMs = 60_000) =>
  createCofheCoprocessor({
    rpcUrl,
    chainId: 31337,
    account: privateKeyToAccount(generatePrivateKey()),
    clock,
    encryptTimeoutMs: timeoutMs,
    decryptTimeoutMs: timeoutMs,
  })

describe('a coprocessor that fails', () => {
  it('is asked to encrypt three times, 2 s and 4 s apart', async () => {
    const rpcUrl = await startRpc({
      body: (id) => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no' } }),
    })
    const clock = hurriedClock()
    await expect(coprocessorAt(rpcUrl, clock).encrypt(1n, 2n)).rejects.toMatchObject({
      code: 'coprocessor-encrypt-failed',
      retryable: true,
    })
    expect(clock.waits).toEqual([2000, 4000])
  })

  it('is told of without what was to be encrypted, and without the address of the RPC', async () => {
    const secret = 0x1234_5678_90ab_cdef_1234_5678_90ab_cdefn
    for (const answer of [
      { body: (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no' } }) },
      { body: (id: unknown) => ({ jsonrpc: '2.0', id, result: '0x' }) },
      { status: 404 },
      { status: 429 },
    ]) {
      const rpcUrl = `${await startRpc(answer)}/access-key`
      const error = await coprocessorAt(rpcUrl, hurriedClock())
        .encrypt(secret, secret)
        .catch((caught: unknown) => caught)
      const { message } = error as Error
      expect(message).toContain('CoFHE encrypt failed: ')
      const shown = message + inspect(error, { depth: 20 })
      for (const part of ['access-key', secret.toString(), secret.toString(16)]) {
        expect(shown).not.toContain(part)
      }
    }
  })

  it('is reported as too many requests when the RPC says 429', async () => {
    const rpcUrl = await startRpc({ status: 429 })
    await expect(coprocessorAt(rpcUrl).decrypt(1n)).rejects.toMatchObject({
      code: 'coprocessor-too-many-requests',
      message: 'CoFHE decrypt failed: too many requests',
      retryable: true,
    })
  })

  it('is reported as unavailable when nothing answers', async () => {
    const nowhere = 'http://127.0.0.1:1'
    await expect(coprocessorAt(nowhere).decrypt(1n)).rejects.toMatchObject({
      code: 'coprocessor-unavailable',
      retryable: true,
    })
  })

  it('is given up after the time allowed', async () => {
    const rpcUrl = await startRpc('silence')
    for (const start of [
      () => coprocessorAt(rpcUrl, systemClock, 100).decrypt(1n),
      () => coprocessorAt(rpcUrl, systemClock, 100).encrypt(1n, 2n),
    ]) {
      await expect(start()).rejects.toMatchObject({
        code: 'coprocessor-unavailable',
        message: expect.stringContaining('no answer within 0.1 s'),
      })
    }
  })

  it('is given up when the caller aborts', async () => {
    const rpcUrl = await startRpc('silence')
    for (const start of ['decrypt', 'encrypt'] as const) {
      const ending = new AbortController()
      const { signal } = ending
      const coprocessor = coprocessorAt(rpcUrl)
      const work =
        start === 'decrypt'
          ? coprocessor.decrypt(1n, { signal })
          : coprocessor.encrypt(1n, 2n, { signal })
      ending.abort(new Error('enough'))
      await expect(work).rejects.toThrow('enough')
    }
  })

  it('is never asked to encrypt what is no uint128', async () => {
    for (const half of [-1n, 1n << 128n]) {
      await expect(coprocessorAt('http://127.0.0.1:1').encrypt(half, 1n)).rejects.toMatchObject({
        code: 'coprocessor-encrypt-failed',
        retryable: false,
      })
    }
  })
})

it('the permit is renewed before it expires, and replaced when the chain finds it expired', async () => {
  const chain = await startTestChain()
  let aheadMs = 0
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs }
  const account = privateKeyToAccount(chain.anvil.accounts[0].privateKey)
  const coprocessor = createCofheCoprocessor({ ...chain.anvil, account, clock })
  const input = await coprocessor.encrypt(5n, 6n)
  const contract = chain.promptKeyStore
  const terms = aHash(`0x${'7e'.repeat(32)}`)
  const { highHandle } = await storeKey({ ...chain.wallet(0), contract, ...input, terms })
  expect(await coprocessor.decrypt(highHandle)).toBe(5n)

  await chain.increaseTime(6.5 * DAY_S)
  aheadMs = 6.5 * DAY_S * 1000
  expect(await coprocessor.decrypt(highHandle)).toBe(5n)
  // Seven days after the first permit, only a renewed one still works.
  await chain.increaseTime(DAY_S)
  expect(await coprocessor.decrypt(highHandle)).toBe(5n)

  await chain.increaseTime(7 * DAY_S)
  aheadMs = 14 * DAY_S * 1000
  expect(await coprocessor.decrypt(highHandle)).toBe(5n)
  await chain.stop()
})
