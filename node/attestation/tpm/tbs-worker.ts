import { dlopen, FFIType, type Pointer, ptr } from 'bun:ffi'
import { errorMessage } from '../../../lib/error-message.ts'
import type { TbsAnswer, TbsRequest } from './windows-transport.ts'

declare const self: Worker

// TBS_CONTEXT_PARAMS2: version 2, and the flag for a TPM 2.0.
const contextParameters = new Uint32Array([2, 1 << 2])
const firstLocality = 0
const normalPriority = 200

type Tbs = {
  readonly close: () => number
  readonly submit: (command: Uint8Array, answer: Uint8Array, length: Uint32Array) => number
  readonly eventLog: (log: Uint8Array | undefined, length: Uint32Array) => number
}

let tbs: Tbs | undefined

const { ptr: pointer, u32 } = FFIType

/** Opens a context. Returns 0 or a TBS_RESULT. */
function openContext(library: string): number {
  const { symbols } = dlopen(library, {
    Tbsi_Context_Create: { args: [pointer, pointer], returns: u32 },
    Tbsip_Submit_Command: {
      args: [pointer, u32, u32, pointer, u32, pointer, pointer],
      returns: u32,
    },
    Tbsip_Context_Close: { args: [pointer], returns: u32 },
    Tbsi_Get_TCG_Log: { args: [pointer, pointer, pointer], returns: u32 },
  })
  const handle = new BigUint64Array(1)
  const result = symbols.Tbsi_Context_Create(ptr(contextParameters), ptr(handle))
  // Addresses fit a number.
  const context = Number(handle[0]) as Pointer
  tbs = {
    close: () => symbols.Tbsip_Context_Close(context),
    submit: (command, answer, length) =>
      symbols.Tbsip_Submit_Command(
        context,
        firstLocality,
        normalPriority,
        ptr(command),
        command.length,
        ptr(answer),
        ptr(length),
      ),
    eventLog: (log, length) =>
      symbols.Tbsi_Get_TCG_Log(context, log ? ptr(log) : null, ptr(length)),
  }
  return result
}

function outputOf(request: TbsRequest): TbsAnswer {
  if (request.kind === 'open') return answered(openContext(request.library))
  if (!tbs) throw new Error('no context was opened')
  if (request.kind === 'close') return answered(tbs.close())
  const length = new Uint32Array(1)
  if (request.kind === 'submit') {
    const answer = new Uint8Array(request.largestAnswerBytes)
    length[0] = answer.length
    return answered(tbs.submit(request.command, answer, length), answer, length)
  }
  const sized = tbs.eventLog(undefined, length)
  if (sized !== 0 || (length[0] ?? 0) > request.largestBytes)
    return answered(sized, undefined, length)
  const log = new Uint8Array(length[0] ?? 0)
  return answered(tbs.eventLog(log, length), log, length)
}

const answered = (result: number, bytes?: Uint8Array, length?: Uint32Array): TbsAnswer =>
  result >>> 0 === 0
    ? { output: bytes?.slice(0, length?.[0] ?? 0) ?? new Uint8Array(), bytes: length?.[0] ?? 0 }
    : { result: result >>> 0 }

self.addEventListener('message', ({ data }: MessageEvent<TbsRequest>) => {
  try {
    self.postMessage(outputOf(data))
  } catch (error) {
    self.postMessage({ failure: errorMessage(error) })
  }
})
