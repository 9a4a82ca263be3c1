import { SvcError } from '../../../lib/svc-error.ts'

/** The longest response of a TPM. Longer ones are refused. */
export const largestAnswerBytes = 4_096

/** Carries bytes to a TPM and back, without interpreting them. */
export interface TpmTransport {
  /** Sends a command and returns the response. One at a time. After a rejection the transport is unusable. Throws SvcErrors. */
  transmit(command: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  close(): Promise<void>
}

/** A TPM to open. */
export type TpmDevice = {
  /** The name in messages. */
  readonly name: string
  /** True for a TPM without a resource manager, so that nothing cleans up after earlier users. */
  readonly isBare: boolean
  open(signal: AbortSignal): Promise<TpmTransport>
  /** Reads the log of what this machine's boot measured. Left out where there is none. */
  readonly readEventLog?: (signal: AbortSignal) => Promise<Uint8Array>
}

/** The error when a TPM goes away or its response is malformed. A retry may succeed. */
export const transportFailed = (name: string, why: string, cause?: unknown): SvcError =>
  new SvcError('tpm-unreachable', `the TPM at ${name} cannot be used: ${why}`, {
    hint: 'Try again. If that does not help, restart the machine, or see what the kernel says about the TPM (dmesg).',
    retryable: true,
    cause,
  })
