import type { Random } from '../../../lib/random.ts'
import type { TpmReader } from '../../../lib/tpm/bytes.ts'

/** The codes of the commands in use. */
export const commandCodes = {
  CreatePrimary: 0x131,
  ActivateCredential: 0x147,
  NV_Read: 0x14e,
  PolicySecret: 0x151,
  Quote: 0x158,
  FlushContext: 0x165,
  NV_ReadPublic: 0x169,
  ReadPublic: 0x173,
  StartAuthSession: 0x176,
  GetCapability: 0x17a,
  PCR_Read: 0x17e,
} as const

/** The authorization of a command for a handle: a session, or the empty password. */
export type Authorization = { readonly session: number; readonly attributes: number }

const passwordSession = 0x4000_0009

export const emptyPassword: Authorization = { session: passwordSession, attributes: 0 }

export type TpmCommand = {
  readonly name: keyof typeof commandCodes
  readonly handles?: readonly number[]
  readonly authorizations?: readonly Authorization[]
  readonly parameters?: Uint8Array
  /** Whether the response begins with a handle. */
  readonly givesHandle?: boolean
}

/** A TPM's response. The handle is 0 when there is none. */
export type TpmAnswer = { readonly handle: number; readonly parameters: TpmReader }

/** An open TPM. */
export type Tpm = {
  /** Sends a command, and repeats it when the TPM asks for that. Throws TpmRefusedError, TpmFormatError or SvcError. */
  send(command: TpmCommand): Promise<TpmAnswer>
  readonly random: Random
}
