import { privateKeyToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { createClient } from '../../../lib/client/client.ts'
import { anAddress } from '../../branded.ts'
import { createTestIcl, origin } from '../../icl/test-icl.ts'

it('a client does not speak plain http to a public network', async () => {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  for (const [icl, rpcUrl] of [
    ['http://icl.example', 'https://rpc.example'],
    ['https://icl.example', 'http://rpc.example'],
  ] as const) {
    const connecting = createClient({ icl, rpcUrl, account })
    await expect(connecting).rejects.toMatchObject({ code: 'url-exposed' })
  }
})

it('a client names the address that is none, and does not show it', async () => {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  for (const wrong of ['secret', 'secret:8545', '']) {
    const connecting = createClient({ icl: origin, rpcUrl: wrong, account })
    const message = 'rpcUrl is no http or https URL'
    await expect(connecting).rejects.toMatchObject({ code: 'url-invalid', message })
  }
})

it('a client that was told its contracts does not use an ICL that names others', async () => {
  const icl = await createTestIcl()
  const { contracts } = icl.deps.network
  const connect = (trusted: typeof contracts) =>
    createClient({
      icl: origin,
      rpcUrl: 'http://127.0.0.1:1',
      account: privateKeyToAccount(`0x${'11'.repeat(32)}`),
      coprocessor: { encrypt: () => Promise.reject(), decrypt: () => Promise.reject() },
      contracts: trusted,
      fetch: icl.fetch,
    })
  const other = { ...contracts, prompt_key_store: anAddress(`0x${'e'.repeat(40)}`) }
  const malformed = { ...contracts, prompt_key_store: '0x1' as never }
  for (const wrong of [other, malformed]) {
    await expect(connect(wrong)).rejects.toMatchObject({ code: 'contracts-wrong' })
  }
  // With the right ones it continues to the chain, which is not there.
  await expect(connect(contracts)).rejects.toMatchObject({ code: 'chain-unavailable' })
  await icl.stop()
})

it('a client connects to an ICL that is started again within seconds', async () => {
  const icl = await createTestIcl()
  const { clock } = icl
  const backAt = clock.now() + 7_000
  const refusals: number[] = []
  const connecting = createClient({
    icl: origin,
    rpcUrl: 'http://127.0.0.1:1',
    account: privateKeyToAccount(`0x${'11'.repeat(32)}`),
    clock,
    fetch: async (request) => {
      if (clock.now() >= backAt) return icl.fetch(request)
      refusals.push(clock.now())
      throw new TypeError('connect ECONNREFUSED')
    },
  })
  // It got what the ICL says of itself, and continues to the chain.
  await expect(clock.until(connecting)).rejects.toMatchObject({ code: 'chain-unavailable' })
  expect(refusals).toHaveLength(5)
  await icl.stop()
})
