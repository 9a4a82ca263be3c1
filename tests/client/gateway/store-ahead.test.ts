import { describe, expect, it } from 'vitest'
import type { GatewayOptions } from '../../../client/gateway/gateway-options.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { acceptedAs, fakeGateway, question } from './fake-client.ts'

type Client = GatewayOptions['client']

/** A gateway that stores keys ahead, and what it stored; each store waits until `finish` is called, and then fails with an error. */
function gatewayWithKeys(isOn = true) {
  const ready: string[] = []
  const stores: {
    readonly model: string
    readonly signal: AbortSignal | undefined
    readonly finish: (error?: Error) => Promise<void>
  }[] = []
  const ended: string[] = []
  const storeKeyAhead: Client['storeKeyAhead'] = async ({ model, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const finish = async (error?: Error) => {
      if (error) reject(error)
      else {
        ready.push(model)
        resolve()
      }
      // The gateway goes on in the turns after this one.
      await new Promise((done) => setTimeout(done))
    }
    stores.push({ model, signal, finish })
    await promise
  }
  const keysAhead: Client['keysAhead'] = async ({ model }) =>
    ready.filter((other) => other === model).length
  const gateway = fakeGateway(
    (_, { model }) => {
      const index = ready.indexOf(model)
      if (index >= 0) ready.splice(index, 1)
      return acceptedAs('Here it is.', model)
    },
    {
      client: { storeKeyAhead, keysAhead },
      ...(isOn && {
        storeAhead: (model, error) => ended.push(`${error ? 'failed' : 'stored'} ${model}`),
      }),
    },
  )
  const ask = async (model = 'openai:one') => {
    expect((await gateway.post(question({ model }))).status).toBe(200)
    await new Promise((done) => setTimeout(done))
  }
  return { ...gateway, ask, ready, stores, ended }
}

const modelsOf = (stores: readonly { readonly model: string }[]) => stores.map(({ model }) => model)

describe('a gateway with --store-ahead', () => {
  it('stores one key for the next job of a model after each job that used one', async () => {
    const { ask, stores, ready, ended } = gatewayWithKeys()
    expect(stores).toEqual([])
    await ask()
    expect(modelsOf(stores)).toEqual(['openai:one'])
    // A second one would be too many while the first is under way.
    await ask()
    expect(stores).toHaveLength(1)
    await ask('openai:two')
    expect(modelsOf(stores)).toEqual(['openai:one', 'openai:two'])
    await stores[0]!.finish()
    expect(ready).toEqual(['openai:one'])
    expect(ended).toEqual(['stored openai:one'])
    await ask()
    expect(modelsOf(stores)).toEqual(['openai:one', 'openai:two', 'openai:one'])
  })

  it('stores none while one is ready', async () => {
    const { ask, stores, ready } = gatewayWithKeys()
    ready.push('openai:one', 'openai:one')
    await ask()
    expect(stores).toEqual([])
    await ask()
    expect(stores).toHaveLength(1)
  })

  it('tells of one that failed, and tries again after the next job only', async () => {
    const { ask, stores, ended } = gatewayWithKeys()
    await ask()
    await stores[0]!.finish(new SvcError('chain-wallet-empty', 'No money', { hint: '' }))
    expect(ended).toEqual(['failed openai:one'])
    expect(stores).toHaveLength(1)
    await ask()
    expect(stores).toHaveLength(2)
  })

  it('aborts the one under way when it is stopped, and does not tell of it', async () => {
    const { ask, stores, stop, ended } = gatewayWithKeys()
    await ask()
    stop.abort()
    expect(stores[0]!.signal?.aborted).toBe(true)
    await stores[0]!.finish(new SvcError('chain-unavailable', 'Away', { hint: '' }))
    expect(ended).toEqual([])
  })

  it('stores none without the flag', async () => {
    const { ask, stores } = gatewayWithKeys(false)
    await ask()
    expect(stores).toEqual([])
  })
})
