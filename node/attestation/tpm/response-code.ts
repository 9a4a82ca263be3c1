import { SvcError } from '../../../lib/svc-error.ts'

/** A command that the TPM refused, with its TPM_RC. */
export class TpmRefusedError extends Error {
  override readonly name = 'TpmRefusedError'
  readonly responseCode: number
  readonly command: string
  constructor(command: string, responseCode: number) {
    super(`the TPM refused ${command}: 0x${responseCode.toString(16).padStart(3, '0')}`)
    this.command = command
    this.responseCode = responseCode
  }
}

/** TPM_RC values. Those of format one are without the number of the handle, session or parameter. */
export const responseCode = {
  success: 0x000,
  badTag: 0x01e,
  asymmetric: 0x081,
  value: 0x084,
  hierarchy: 0x085,
  type: 0x08a,
  handle: 0x08b,
  authFail: 0x08e,
  scheme: 0x092,
  integrity: 0x09f,
  badAuth: 0x0a2,
  curve: 0x0a6,
  initialize: 0x100,
  failure: 0x101,
  disabled: 0x120,
  commandCode: 0x143,
  objectMemory: 0x902,
  sessionMemory: 0x903,
  yielded: 0x908,
  testing: 0x90a,
  nvRate: 0x920,
  lockout: 0x921,
  retry: 0x922,
} as const

const aboutSomething = 0x80
const withoutNumber = 0xbf

/** Removes the number of the handle, session or parameter from a TPM_RC. */
export const kindOf = (code: number): number =>
  code & aboutSomething ? code & withoutNumber : code

/** True when the TPM asks for the same command again. */
export const isRepeatable = (code: number): boolean =>
  code === responseCode.retry ||
  code === responseCode.yielded ||
  code === responseCode.testing ||
  code === responseCode.nvRate

type Advice = {
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly retryable?: boolean
}

const closedHierarchy: Advice = {
  code: 'tpm-hierarchy-closed',
  message: "the TPM's endorsement hierarchy is turned off",
  hint: 'Turn it on in the firmware set-up (TPM: endorsement hierarchy), or clear the TPM there.',
}
const passwordNeeded: Advice = {
  code: 'tpm-password',
  message: "the TPM's endorsement hierarchy has a password",
  hint: 'Remove it with `tpm2_changeauth -c e -p OLD`, or clear the TPM in the firmware set-up.',
}
const full: Advice = {
  code: 'tpm-full',
  message: 'the TPM has no room for another key or session',
  hint: 'Use /dev/tpmrm0, or end the program that left keys in it: `tpm2_flushcontext -t`.',
  retryable: true,
}
const broken: Advice = {
  code: 'tpm-failed',
  message: 'the TPM has failed its self-test, or was not started',
  hint: 'Turn the machine off and on. If that does not help, the TPM is broken.',
}

const advice: ReadonlyMap<number, Advice> = new Map([
  [
    responseCode.lockout,
    {
      code: 'tpm-lockout',
      message: 'the TPM is locked because of wrong passwords',
      hint: 'Wait (hours), or end it with `tpm2_dictionarylockout --clear-lockout`.',
      retryable: true,
    },
  ],
  [responseCode.hierarchy, closedHierarchy],
  [responseCode.disabled, closedHierarchy],
  [responseCode.authFail, passwordNeeded],
  [responseCode.badAuth, passwordNeeded],
  [responseCode.objectMemory, full],
  [responseCode.sessionMemory, full],
  [responseCode.failure, broken],
  [responseCode.initialize, broken],
  [
    responseCode.badTag,
    {
      code: 'tpm-too-old',
      message: 'this is a TPM 1.2',
      hint: 'Switch the firmware to TPM 2.0, if it can. A TPM 1.2 cannot attest.',
    },
  ],
])

/** Explains a refusal to the operator. */
export function explainRefusal(refusal: TpmRefusedError, name: string): SvcError {
  const { responseCode: code, command } = refusal
  const known = advice.get(kindOf(code))
  const told = `${command}: 0x${code.toString(16).padStart(3, '0')}`
  if (known) {
    const { message, hint, retryable = false } = known
    return new SvcError(known.code, `${message} (${name}, ${told})`, {
      hint,
      retryable,
      cause: refusal,
    })
  }
  const retryable = isRepeatable(code)
  return new SvcError('tpm-refused', `the TPM at ${name} refused ${told}`, {
    hint: retryable
      ? 'The TPM is busy with itself: try again in a minute.'
      : `Look the code up with \`tpm2_rc_decode 0x${code.toString(16)}\`.`,
    retryable,
    cause: refusal,
  })
}
