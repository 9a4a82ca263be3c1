import { SvcError } from '../../../lib/svc-error.ts'
import { maxEventLogBytes } from '../../../lib/tpm/event-log.ts'
import { tooLong } from './boot-event-log.ts'
import { largestAnswerBytes, type TpmTransport, transportFailed } from './transport.ts'

const name = 'TPM Base Services'
const library = 'tbs.dll'
const closeMs = 1_000

/** A request to the worker. */
export type TbsRequest =
  | { readonly kind: 'open'; readonly library: string }
  | { readonly kind: 'submit'; readonly command: Uint8Array; readonly largestAnswerBytes: number }
  | { readonly kind: 'eventLog'; readonly largestBytes: number }
  | { readonly kind: 'close' }

/** The worker's reply: bytes and their full count, an error as TBS_RESULT, or why the call failed. */
export type TbsAnswer =
  | { readonly output: Uint8Array; readonly bytes: number }
  | { readonly result: number }
  | { readonly failure: string }

type Call = (
  request: TbsRequest,
  signal: AbortSignal,
) => Promise<{ output: Uint8Array; bytes: number }>

/** Opens the TPM Base Services of Windows in a worker, because their calls block. Throws SvcErrors with a remedy. */
export async function openTbs(signal: AbortSignal, from = library): Promise<TpmTransport> {
  const { call, end } = await openWorker(signal, from)
  return {
    transmit: async (command, aborted) =>
      (await call({ kind: 'submit', command, largestAnswerBytes }, aborted)).output,
    close: end,
  }
}

/** Reads the boot event log that Windows keeps. Throws SvcErrors. */
export async function readTbsEventLog(signal: AbortSignal, from = library): Promise<Uint8Array> {
  const { call, end } = await openWorker(signal, from)
  try {
    const { output, bytes } = await call(
      { kind: 'eventLog', largestBytes: maxEventLogBytes },
      signal,
    )
    if (bytes > maxEventLogBytes) throw tooLong()
    return output
  } finally {
    await end()
  }
}

async function openWorker(signal: AbortSignal, from: string) {
  const worker = new Worker(new URL('./tbs-worker.ts', import.meta.url).href)
  let isBroken = false
  const call: Call = async (request, aborted) => {
    aborted.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TbsAnswer>()
    const onMessage = ({ data }: MessageEvent<TbsAnswer>) => resolve(data)
    const onError = ({ message }: ErrorEvent) => resolve({ failure: message })
    const onAbort = () => reject(aborted.reason)
    worker.addEventListener('message', onMessage)
    worker.addEventListener('error', onError)
    aborted.addEventListener('abort', onAbort, { once: true })
    try {
      worker.postMessage(request)
      const answer = await promise
      if ('output' in answer) return answer
      throw 'result' in answer ? refused(answer.result) : transportFailed(name, answer.failure)
    } catch (error) {
      isBroken = true
      throw error
    } finally {
      worker.removeEventListener('message', onMessage)
      worker.removeEventListener('error', onError)
      aborted.removeEventListener('abort', onAbort)
    }
  }
  const end = async () => {
    // A worker that may still be waiting for the TPM is terminated without a request.
    const closed = isBroken ? undefined : call({ kind: 'close' }, AbortSignal.timeout(closeMs))
    await closed?.catch(() => {})
    worker.terminate()
  }
  try {
    await call({ kind: 'open', library: from }, signal)
    return { call, end }
  } catch (error) {
    await end()
    throw error
  }
}

const tpmNotFound = 0x8028_400f
const serviceNotRunning = 0x8028_4008
const accessDenied: readonly number[] = [0x8028_4012, 0x8007_0005, 5]
const commandBlocked = 0x8028_0400

function refused(result: number): SvcError {
  const code = `0x${result.toString(16).padStart(8, '0')}`
  if (result === tpmNotFound) {
    return new SvcError('tpm-not-found', `Windows knows no TPM 2.0 (${code})`, {
      hint: 'Turn the TPM on in the firmware set-up. Check with tpm.msc.',
    })
  }
  if (result === serviceNotRunning) {
    return new SvcError('tpm-unreachable', `the TPM Base Services do not run (${code})`, {
      hint: 'Start the service "TPM Base Services" (TBS).',
      retryable: true,
    })
  }
  if (result === commandBlocked || accessDenied.includes(result)) {
    return new SvcError(
      'tpm-permission',
      `Windows does not let this user do that with the TPM (${code})`,
      {
        hint: 'Run `svc-node attest` as an administrator: enrolling needs TPM2_ActivateCredential, which Windows keeps for them.',
      },
    )
  }
  return transportFailed(name, `TBS returns ${code}`)
}
