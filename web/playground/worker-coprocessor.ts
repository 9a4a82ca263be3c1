import type { LocalAccount } from 'viem'
import type { Coprocessor, EncryptNews } from '../../lib/coprocessor/coprocessor.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { CoprocessorStart, FromWorker, ToWorker } from './coprocessor-messages.ts'
import { fromErrorParts, toErrorParts } from './error-parts.ts'

type Call = {
  readonly end: ReturnType<typeof Promise.withResolvers<unknown>>
  readonly onStep: ((news: EncryptNews) => void) | undefined
}

/** A coprocessor that works in another thread. `stop` ends that thread with all its calls. */
export type WorkerCoprocessor = Coprocessor & { readonly stop: () => void }

const broken = (why: string): SvcError =>
  new SvcError('coprocessor-unavailable', `The worker for encryption ended: ${why}`, {
    hint: 'Reload the page. If it happens again, try another browser.',
  })

/** Encrypts and decrypts for `account` in a Web Worker. Only permits come back to be signed. */
export function createWorkerCoprocessor(
  worker: Worker,
  account: Pick<LocalAccount, 'signTypedData'>,
  start: CoprocessorStart,
): WorkerCoprocessor {
  const calls = new Map<number, Call>()
  let lastId = 0
  let ended: SvcError | undefined
  const send = (message: ToWorker): void => worker.postMessage(message)
  // The worker no longer answers, so later calls must fail as well.
  const fail = (error: SvcError): void => {
    ended ??= error
    for (const { end } of calls.values()) end.reject(error)
    calls.clear()
  }
  const sign = async (id: number, typedData: unknown): Promise<void> => {
    try {
      const typed = typedData as Parameters<LocalAccount['signTypedData']>[0]
      send({ kind: 'signed', id, signature: await account.signTypedData(typed) })
    } catch (error) {
      send({ kind: 'not-signed', id, error: toErrorParts(error) })
    }
  }
  const take = (message: FromWorker): void => {
    if (message.kind === 'sign') {
      void sign(message.id, message.typedData)
      return
    }
    const call = calls.get(message.id)
    if (message.kind === 'news') {
      call?.onStep?.(message.news)
      return
    }
    calls.delete(message.id)
    if (message.kind === 'failed') call?.end.reject(fromErrorParts(message.error))
    else call?.end.resolve(message.value)
  }
  const call = async <T>(
    messageOf: (id: number) => ToWorker,
    signal: AbortSignal | undefined,
    onStep?: (news: EncryptNews) => void,
  ): Promise<T> => {
    signal?.throwIfAborted()
    if (ended) throw ended
    lastId += 1
    const id = lastId
    const end = Promise.withResolvers<unknown>()
    calls.set(id, { end, onStep })
    const abort = () => {
      calls.delete(id)
      send({ kind: 'cancel', id })
      end.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    send(messageOf(id))
    const done = end.promise.finally(() => signal?.removeEventListener('abort', abort))
    return (await done) as T
  }

  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => take(data))
  worker.addEventListener('error', ({ message }) =>
    fail(broken(message || 'it could not be started')),
  )
  send({ kind: 'start', start })
  return {
    encrypt: (high, low, { signal, onStep } = {}) =>
      call((id) => ({ kind: 'encrypt', id, high, low }), signal, onStep),
    decrypt: (handle, { signal } = {}) => call((id) => ({ kind: 'decrypt', id, handle }), signal),
    stop: () => {
      worker.terminate()
      fail(broken('it was stopped'))
    },
  }
}
