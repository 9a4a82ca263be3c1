import type { Permit } from '@cofhe/sdk/permits'
import type { PublicClient, WalletClient } from 'viem'
import type { ChainWriter } from '../chain/clients.ts'
import type { EncryptedInput } from '../chain/encrypted-input.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import type { EncryptedHalves, EncryptNews, EncryptStep } from './coprocessor.ts'

/** Two uint128 values. */
export type Halves = { readonly high: bigint; readonly low: bigint }

/** A connection to the coprocessor. Calls do not retry. It throws ServiceFailures, the SDK's errors, or SvcErrors. */
export interface Connection {
  /** Fetches the keys of `encrypt`, if that has not been done. */
  fetchKeys(signal: AbortSignal): Promise<void>
  /** `signal` ends what can be ended. The caller must stop waiting itself. */
  encrypt(halves: Halves, steps: StepTeller, signal: AbortSignal): Promise<EncryptedHalves>
  decrypt(handle: bigint, permit: Permit, signal: AbortSignal): Promise<bigint>
}

/** A chain's clients for the SDK, which calls nothing of them that client-actions.ts leaves out. */
export const sdkClients = ({ publicClient, walletClient }: ChainWriter) =>
  [publicClient as unknown as PublicClient, walletClient as unknown as WalletClient] as const

/** Takes the inputs for both halves. */
export function halvesOf([high, low]: readonly EncryptedInput[]): EncryptedHalves {
  if (high && low) return { high, low }
  throw new TypeError('there are no inputs for both halves')
}

const stepNames: Readonly<Record<string, EncryptStep>> = {
  initTfhe: 'prepare',
  fetchKeys: 'prepare',
  pack: 'prove',
  prove: 'prove',
  verify: 'verify',
}

/** Reports the progress of one attempt to encrypt. */
export type StepTeller = {
  /** Starts a step, by the SDK's name, and ends the one before. Ignored for the running step. */
  readonly begin: (name: string) => void
  readonly proofMade: (bytes: number) => void
  readonly end: () => void
}

/** Makes the reporter of one attempt. */
export function createStepTeller(clock: Clock, tell: (news: EncryptNews) => void): StepTeller {
  let current: { readonly step: EncryptStep; readonly began: MonotonicMs } | undefined
  let proofBytes: number | undefined
  const end = () => {
    if (current === undefined) return
    const { step, began } = current
    current = undefined
    const size = step === 'prove' && proofBytes !== undefined ? { proofBytes } : {}
    tell({ step, phase: 'end', elapsedMs: elapsedSince(clock, began), ...size })
  }
  return {
    begin: (name) => {
      const step = stepNames[name]
      if (step === undefined || step === current?.step) return
      end()
      current = { step, began: clock.monotonic() }
      tell({ step, phase: 'start', elapsedMs: 0 })
    },
    proofMade: (bytes) => {
      proofBytes = bytes
    },
    end,
  }
}
