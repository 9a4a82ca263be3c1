// Runs the coprocessor's client outside the page's thread: it fetches megabytes of keys and runs the SDK. A proof blocks a thread for ten
// seconds, so each gets its own worker.
import './zod-without-eval.ts'
import type { Hex, LocalAccount } from 'viem'
import { toAccount } from 'viem/accounts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import type { CofheCoprocessor } from '../../lib/coprocessor/cofhe-options.ts'
import type { EncryptedHalves, EncryptNews } from '../../lib/coprocessor/coprocessor.ts'
import { createWorkerProver } from '../../lib/coprocessor/worker-prover.ts'
import { systemClock as clock } from '../../lib/system.ts'
import type { CoprocessorStart, FromWorker, ToWorker } from './coprocessor-messages.ts'
import { fromErrorParts, toErrorParts } from './error-parts.ts'

declare const self: Worker

const decryptTimeoutMs = 300_000

type Asked = ReturnType<typeof Promise.withResolvers<Hex>>

const tell = (message: FromWorker): void => self.postMessage(message)

const running = new Map<number, AbortController>()
const signing = new Map<number, Asked>()
let signatures = 0
let coprocessor: CofheCoprocessor | undefined

/** The page's wallet, which signs only permits. */
const accountOf = (address: string): LocalAccount => {
  const refuse = async () => {
    throw new TypeError('Only permits are signed from here')
  }
  return toAccount({
    address: address as Hex,
    signMessage: refuse,
    signTransaction: refuse,
    signTypedData: (typed) => {
      signatures += 1
      const asked = Promise.withResolvers<Hex>()
      signing.set(signatures, asked)
      // Its type may depend on the wallet, but it is plain data.
      tell({ kind: 'sign', id: signatures, typedData: typed })
      return asked.promise
    },
  })
}

function start({ rpcUrl, chainId, address, ...rest }: CoprocessorStart): CofheCoprocessor {
  const startWorker = () => new Worker(rest.proveWorkerUrl, { type: 'module' })
  return createCofheCoprocessor({
    rpcUrl,
    chainId,
    account: accountOf(address),
    clock,
    coprocessor: rest.coprocessor,
    // A user may first have to approve the permit.
    decryptTimeoutMs,
    prover: createWorkerProver({ clock, startWorker, wasmUrl: rest.wasmUrl }),
  })
}

async function run(
  id: number,
  work: (coprocessor: CofheCoprocessor, signal: AbortSignal) => Promise<EncryptedHalves | bigint>,
): Promise<void> {
  const stop = new AbortController()
  running.set(id, stop)
  try {
    if (coprocessor === undefined) throw new TypeError('The worker has not been started')
    tell({ kind: 'done', id, value: await work(coprocessor, stop.signal) })
  } catch (error) {
    tell({ kind: 'failed', id, error: toErrorParts(error) })
  } finally {
    running.delete(id)
  }
}

function takeAsked(id: number): Asked | undefined {
  const asked = signing.get(id)
  signing.delete(id)
  return asked
}

self.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case 'start':
      coprocessor = start(data.start)
      break
    case 'encrypt': {
      const { id, high, low } = data
      const onStep = (news: EncryptNews) => tell({ kind: 'news', id, news })
      void run(id, (own, signal) => own.encrypt(high, low, { signal, onStep }))
      break
    }
    case 'decrypt': {
      const { id, handle } = data
      void run(id, (own, signal) => own.decrypt(handle, { signal }))
      break
    }
    case 'cancel':
      running.get(data.id)?.abort()
      break
    case 'signed':
      takeAsked(data.id)?.resolve(data.signature)
      break
    case 'not-signed':
      takeAsked(data.id)?.reject(fromErrorParts(data.error))
      break
  }
})
