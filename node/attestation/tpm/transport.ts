import { SvcError } from '../../../lib/svc-error.ts'

/** The longest answer that a TPM gives; longer ones are refused. */
export const largestAnswerBytes = 4_096

/** Carries bytes to a TPM and back; knows nothing of what they mean. */
export interface TpmTransport {
  /** Sends one command and gives its answer; one at a time. After a rejection the transport is of no more use; throws SvcErrors. */
  transmit(command: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  close(): Promise<void>
}

/** A TPM that can be opened. */
export type TpmDevice = {
  /** As messages name it. */
  readonly name: string
  /** True when nothing cleans up after earlier users: a bare TPM without a resource manager. */
  readonly isBare: boolean
  open(signal: AbortSignal): Promise<TpmTransport>
  /** The log of what this machine's boot measured; missing where there is none. */
  readonly readEventLog?: (signal: AbortSignal) => Promise<Uint8Array>
}

/** The error of a TPM that went away or answers nonsense; trying again can help. */
export const transportFailed = (name: string, why: string, cause?: unknown): SvcError =>
  new SvcError('tpm-unreachable', `the TPM at ${name} cannot be used: ${why}`, {
    hint: 'Try again. If that does not help, restart the machine, or see what the kernel says about the TPM (dmesg).',
    retryable: true,
    cause,
  })
