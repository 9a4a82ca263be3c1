import { describe, expect, it } from 'vitest'
import { SvcError } from '../../../lib/svc-error.ts'
import type { FromWorker, ToWorker } from '../../../web/playground/coprocessor-messages.ts'
import { createWorkerCoprocessor } from '../../../web/playground/worker-coprocessor.ts'

/** The page's end of a worker whose other end is a test. */
function createPort() {
  const sent: ToWorker[] = []
  let heard = Promise.withResolvers<ToWorker>()
  const listeners: Partial<Record<string, (event: unknown) => void>> = {}
  let ended = false
  const worker = {
    postMessage: (message: ToWorker) => {
      sent.push(message)
      heard.resolve(message)
    },
    addEventListener: (type: string, listener: (event: unknown) => void) => {
      listeners[type] = listener
    },
    terminate: () => {
      ended = true
    },
  } as unknown as Worker
  return {
    worker,
    sent,
    /** The next message that the page sends. */
    next: () => {
      heard = Promise.withResolvers<ToWorker>()
      return heard.promise
    },
    isEnded: () => ended,
    tell: (data: FromWorker) => listeners.message?.({ data }),
    break: (message: string) => listeners.error?.({ message }),
  }
}

const start = {
  rpcUrl: 'http://127.0.0.1:1',
  chainId: 31_337,
  address: `0x${'1'.repeat(40)}`,
  proveWorkerUrl: '/playground/prove.js',
  wasmUrl: '/playground/tfhe.wasm',
}
const signing = { signTypedData: async () => '0x12' as const }
const half = { ctHash: 1n, securityZone: 0, utype: 6, signature: '0x' as const }

describe('a coprocessor in a worker', () => {
  it('gives each call its own answer, in any order, and its news', async () => {
    const port = createPort()
    const coprocessor = createWorkerCoprocessor(port.worker, signing, start)
    const news: string[] = []
    const encrypting = coprocessor.encrypt(1n, 2n, { onStep: ({ step }) => news.push(step) })
    const decrypting = coprocessor.decrypt(3n)
    expect(port.sent).toEqual([
      { kind: 'start', start },
      { kind: 'encrypt', id: 1, high: 1n, low: 2n },
      { kind: 'decrypt', id: 2, handle: 3n },
    ])
    port.tell({ kind: 'done', id: 2, value: 9n })
    port.tell({ kind: 'news', id: 1, news: { step: 'prove', phase: 'start', elapsedMs: 0 } })
    port.tell({ kind: 'done', id: 1, value: { high: half, low: half } })
    expect(await decrypting).toBe(9n)
    expect(await encrypting).toEqual({ high: half, low: half })
    expect(news).toEqual(['prove'])
  })

  it('keeps an error with its remedy', async () => {
    const port = createPort()
    const decrypting = createWorkerCoprocessor(port.worker, signing, start).decrypt(3n)
    const error = {
      code: 'coprocessor-access-denied',
      message: 'no',
      hint: 'Ask.',
      retryable: true,
    }
    port.tell({ kind: 'failed', id: 1, error })
    const thrown = await decrypting.catch((caught: unknown) => caught)
    expect(thrown).toBeInstanceOf(SvcError)
    expect(thrown).toMatchObject(error)
  })

  it('has permits signed by the account, and tells when it declines', async () => {
    const port = createPort()
    createWorkerCoprocessor(port.worker, signing, start)
    const signed = port.next()
    port.tell({ kind: 'sign', id: 7, typedData: {} })
    expect(await signed).toEqual({ kind: 'signed', id: 7, signature: '0x12' })

    const declining = createPort()
    const declined = new SvcError('wallet-refused', 'Declined', { hint: 'Approve it.' })
    const account = { signTypedData: () => Promise.reject(declined) }
    createWorkerCoprocessor(declining.worker, account, start)
    const refused = declining.next()
    declining.tell({ kind: 'sign', id: 7, typedData: {} })
    expect(await refused).toMatchObject({
      kind: 'not-signed',
      error: { code: 'wallet-refused', hint: 'Approve it.' },
    })
  })

  it('cancels in the worker what its caller gives up', async () => {
    const port = createPort()
    const stop = new AbortController()
    const encrypting = createWorkerCoprocessor(port.worker, signing, start).encrypt(1n, 2n, {
      signal: stop.signal,
    })
    stop.abort(new Error('enough'))
    await expect(encrypting).rejects.toThrow('enough')
    expect(port.sent.at(-1)).toEqual({ kind: 'cancel', id: 1 })
  })

  it('fails every call when the worker breaks or is stopped', async () => {
    for (const [end, why] of [
      ['break', /out of memory/],
      ['stop', /stopped/],
    ] as const) {
      const port = createPort()
      const coprocessor = createWorkerCoprocessor(port.worker, signing, start)
      const calls = Promise.allSettled([coprocessor.decrypt(1n), coprocessor.encrypt(1n, 2n)])
      if (end === 'break') port.break('out of memory')
      else coprocessor.stop()
      for (const call of await calls) {
        expect(call.status === 'rejected' && String(call.reason)).toMatch(why)
      }
      expect(port.isEnded()).toBe(end === 'stop')
      // What is asked for later would have nobody to answer it.
      await expect(coprocessor.decrypt(1n)).rejects.toThrow(why)
    }
  })
})
