import type { Clock } from '../../../lib/clock.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import type { Random } from '../../../lib/random.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createTpmReader, createTpmWriter, TpmFormatError } from '../../../lib/tpm/bytes.ts'
import { flushLeftovers } from './contexts.ts'
import { explainRefusal, isRepeatable, responseCode, TpmRefusedError } from './response-code.ts'
import { commandCodes, type Tpm, type TpmAnswer, type TpmCommand } from './tpm-command.ts'
import { type TpmDevice, type TpmTransport, transportFailed } from './transport.ts'

const noSessions = 0x8001
const withSessions = 0x8002
const answerOfTpm12 = 0x00c4
const headerBytes = 10

// A slow TPM takes most of a minute to make an RSA key.
const createPrimaryMs = 180_000
const usualMs = 30_000
const openMs = 10_000
const mostRepeats = 20
const firstRepeatMs = 5
const longestRepeatMs = 500

/** A TPM, and the dependencies to use it. */
export type TpmOptions = {
  readonly device: TpmDevice
  /** The clock of this machine. */
  readonly clock: Clock
  readonly random: Random
}

/** The TPM that attests, and the operator's file with certificates that the TPM lacks. */
export type TpmAttestorOptions = TpmOptions & { readonly certificatesPath: string | undefined }

/** Opens a TPM, runs `work` and closes it. Throws only SvcErrors and the errors of `work`. */
export async function withTpm<T>(
  { device, clock, random }: TpmOptions,
  signal: AbortSignal,
  work: (tpm: Tpm) => Promise<T>,
): Promise<T> {
  const { name } = device
  const transport = await withDeadline(
    clock,
    openMs,
    signal,
    () => timedOut(name),
    (ended) => device.open(ended),
  )
  try {
    const tpm = { send: createSender(transport, name, clock, signal), random }
    if (device.isBare) await flushLeftovers(tpm)
    return await work(tpm)
  } catch (error) {
    if (error instanceof TpmRefusedError) throw explainRefusal(error, name)
    if (error instanceof TpmFormatError) throw transportFailed(name, error.message, error)
    throw error
  } finally {
    await transport.close()
  }
}

const timedOut = (name: string): SvcError =>
  new SvcError('tpm-timed-out', `the TPM at ${name} gave no answer in time`, {
    hint: 'Try again: another program may keep it busy. If that does not help, restart the machine.',
    retryable: true,
  })

function createSender(
  transport: TpmTransport,
  name: string,
  clock: Clock,
  signal: AbortSignal,
): Tpm['send'] {
  let last: Promise<unknown> = Promise.resolve()
  let failure: unknown
  const exchange = async (command: TpmCommand): Promise<TpmAnswer> => {
    // The clean-up after a failure must not wait for a TPM that is gone.
    if (failure !== undefined) throw failure
    const bytes = commandBytes(command)
    const limitMs = command.name === 'CreatePrimary' ? createPrimaryMs : usualMs
    for (let repeats = 0; ; repeats++) {
      let answer: Uint8Array
      try {
        answer = await withDeadline(
          clock,
          limitMs,
          signal,
          () => timedOut(name),
          (ended) => transport.transmit(bytes, ended),
        )
      } catch (error) {
        failure = error
        throw error
      }
      const read = readAnswer(command, answer)
      if (typeof read !== 'number') return read
      if (!isRepeatable(read) || repeats >= mostRepeats)
        throw new TpmRefusedError(command.name, read)
      await clock.sleep(Math.min(firstRepeatMs * 2 ** repeats, longestRepeatMs), signal)
    }
  }
  return (command) => {
    const answer = last.then(() => exchange(command))
    last = answer.catch(() => {})
    return answer
  }
}

function commandBytes(command: TpmCommand): Uint8Array {
  const { name, handles = [], authorizations = [], parameters = new Uint8Array() } = command
  const body = createTpmWriter()
  for (const handle of handles) body.u32(handle)
  if (authorizations.length > 0) {
    const area = createTpmWriter()
    for (const { session, attributes } of authorizations) {
      // No nonce and no HMAC: passwords are empty, and the policies used here need none.
      area.u32(session).u16(0).u8(attributes).u16(0)
    }
    const bytes = area.done()
    body.u32(bytes.length).raw(bytes)
  }
  const rest = body.raw(parameters).done()
  return createTpmWriter()
    .u16(authorizations.length > 0 ? withSessions : noSessions)
    .u32(headerBytes + rest.length)
    .u32(commandCodes[name])
    .raw(rest)
    .done()
}

/** Parses a response. Returns the response code of a refusal. */
function readAnswer(command: TpmCommand, bytes: Uint8Array): TpmAnswer | number {
  const reader = createTpmReader(bytes)
  const tag = reader.u16()
  const length = reader.u32()
  const code = reader.u32()
  if (tag === answerOfTpm12) return responseCode.badTag
  if (length !== bytes.length || (tag !== noSessions && tag !== withSessions)) {
    throw new TpmFormatError(`the answer to ${command.name} has a wrong header`)
  }
  if (code !== responseCode.success) return code
  const handle = command.givesHandle ? reader.u32() : 0
  if (tag === noSessions) return { handle, parameters: reader }
  return { handle, parameters: createTpmReader(reader.raw(reader.u32())) }
}
