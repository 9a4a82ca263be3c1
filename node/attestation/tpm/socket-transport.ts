import { connect, type Socket } from 'node:net'
import { errorMessage } from '../../../lib/error-message.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { largestAnswerBytes, type TpmTransport, transportFailed } from './transport.ts'

/** The address of a TPM: a TCP port, or the path of a Unix socket. */
export type TpmSocket = { readonly host: string; readonly port: number } | { readonly path: string }

const headerBytes = 10

type Waiting = {
  readonly resolve: (answer: Uint8Array) => void
  readonly reject: (error: Error) => void
}

/** Opens the socket of a simulator such as swtpm, which takes bare TPM commands. Throws SvcErrors. */
export async function openTpmSocket(
  to: TpmSocket,
  name: string,
  signal: AbortSignal,
): Promise<TpmTransport> {
  const socket = await connected(to, name, signal)
  let received = new Uint8Array()
  let waiting: Waiting | undefined
  let failure: Error | undefined
  const fail = (why: string, cause?: unknown) => {
    failure ??= transportFailed(name, why, cause)
    waiting?.reject(failure)
    waiting = undefined
    socket.destroy()
  }
  socket.on('data', (chunk: Uint8Array) => {
    received = joined(received, chunk)
    if (received.length > largestAnswerBytes) return fail('its answer is too long')
    if (received.length < headerBytes) return
    const expected = new DataView(received.buffer).getUint32(2)
    if (received.length < expected) return
    if (received.length > expected || !waiting) return fail('it sent a response without a request')
    waiting.resolve(received)
    waiting = undefined
    received = new Uint8Array()
  })
  socket.on('error', (error) => fail(error.message, error))
  socket.on('close', () => fail('it closed the connection'))
  return {
    transmit(command, aborted) {
      aborted.throwIfAborted()
      if (failure) return Promise.reject(failure)
      const answer = Promise.withResolvers<Uint8Array>()
      waiting = answer
      const onAbort = () => fail('its answer was not waited for')
      aborted.addEventListener('abort', onAbort, { once: true })
      socket.write(command)
      return answer.promise.finally(() => aborted.removeEventListener('abort', onAbort))
    },
    close: async () => {
      socket.destroy()
    },
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

async function connected(to: TpmSocket, name: string, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  const socket = connect({ ...to, noDelay: true })
  const abort = () => socket.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
      socket.once('close', () => reject(signal.reason ?? new Error('it closed the connection')))
    })
    socket.removeAllListeners()
    return socket
  } catch (error) {
    socket.destroy()
    signal.throwIfAborted()
    const why = errorMessage(error)
    throw new SvcError('tpm-not-found', `there is no TPM at ${name}: ${why}`, {
      hint: 'Start it (swtpm socket --tpm2 ...), or correct SVC_TPM. Leave it out for the TPM of this machine.',
      retryable: true,
      cause: error,
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
