import {
  assertCorrectEncryptedItemInput,
  type CofheClient,
  Encryptable,
  type EncryptedItemInput,
  FheTypes,
} from '@cofhe/sdk'
import type { LocalAccount } from 'viem'
import { type ChainEndpoint, createChainWriter } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { SvcError } from '../svc-error.ts'
import { connectLocalCofhe } from './cofhe-client.ts'
import { isPermitRefused, timedOut, toCoprocessorError, toEncryptError } from './cofhe-errors.ts'
import type { Coprocessor, EncryptedInput, EncryptOptions, EncryptStep } from './coprocessor.ts'
import { createSelfPermit } from './self-permit.ts'

const localChainId = 31337
const encryptAttempts = 3
const encryptWaitMs = 2000
const uint128Max = (1n << 128n) - 1n

const stepNames: Readonly<Record<string, EncryptStep>> = {
  initTfhe: 'prepare',
  fetchKeys: 'prepare',
  pack: 'prove',
  prove: 'prove',
  verify: 'verify',
}

/** Which wallet decrypts where; timeouts are for one whole call, retries included. */
export type CofheOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly clock: Clock
  readonly encryptTimeoutMs?: number
  readonly decryptTimeoutMs?: number
}

const toInput = (item: EncryptedItemInput): EncryptedInput => {
  assertCorrectEncryptedItemInput(item)
  const { ctHash, securityZone, utype, signature } = item
  return { ctHash, securityZone, utype, signature }
}

const checkHalf = (half: bigint): void => {
  if (half >= 0n && half <= uint128Max) return
  throw new SvcError('coprocessor-encrypt-failed', 'CoFHE encrypt failed: a half is no uint128', {
    hint: 'Split the key into two halves of 16 bytes.',
  })
}

const encryptOnce = async (
  client: CofheClient,
  high: bigint,
  low: bigint,
  onStep: (step: EncryptStep) => void,
) => {
  let last: EncryptStep | undefined
  const [encryptedHigh, encryptedLow] = await client
    .encryptInputs([Encryptable.uint128(high), Encryptable.uint128(low)])
    .onStep((name) => {
      const step = stepNames[name]
      if (step === undefined || step === last) return
      last = step
      onStep(step)
    })
    .execute()
  return { high: toInput(encryptedHigh), low: toInput(encryptedLow) }
}

// A connection that failed is tried again by the next call.
const connectLazily = (connect: () => Promise<CofheClient>): (() => Promise<CofheClient>) => {
  let connecting: Promise<CofheClient> | undefined
  return () => {
    connecting ??= connect().catch((error: unknown) => {
      connecting = undefined
      throw error
    })
    return connecting
  }
}

const retryEncrypt = async <T>(
  clock: Clock,
  signal: AbortSignal,
  body: () => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await body()
    } catch (error) {
      signal.throwIfAborted()
      if (attempt === encryptAttempts) throw toEncryptError(error)
      await clock.sleep(encryptWaitMs * attempt, signal)
    }
  }
}

/** Reaches the coprocessor through its SDK as one wallet; so far on local chains (id 31337) only, else `coprocessor-unsupported-chain`. */
export const createCofheCoprocessor = (options: CofheOptions): Coprocessor => {
  const { clock } = options
  const { encryptTimeoutMs = 120_000, decryptTimeoutMs = 60_000 } = options
  if (options.chainId !== localChainId) {
    throw new SvcError(
      'coprocessor-unsupported-chain',
      `the coprocessor is not available on chain ${options.chainId}`,
      { hint: `Use a local chain with the id ${localChainId}.` },
    )
  }
  const chain = createChainWriter(options)
  const permit = createSelfPermit(chain, clock)
  const connect = connectLazily(() => connectLocalCofhe(options, chain))

  const decryptOnce = async (handle: bigint): Promise<bigint> => {
    const client = await connect()
    const held = await permit.current()
    return await client.decryptForView(handle, FheTypes.Uint128).withPermit(held).execute()
  }
  const decryptWithFreshPermit = (handle: bigint): Promise<bigint> =>
    decryptOnce(handle).catch((error: unknown) => {
      if (!isPermitRefused(error)) throw error
      permit.drop()
      return decryptOnce(handle)
    })

  return {
    encrypt: async (high, low, { signal, onStep }: EncryptOptions = {}) => {
      checkHalf(high)
      checkHalf(low)
      const late = () => timedOut('CoFHE encrypt failed', encryptTimeoutMs)
      return await withDeadline(clock, encryptTimeoutMs, signal, late, (ended) =>
        retryEncrypt(clock, ended, async () =>
          encryptOnce(await connect(), high, low, (step) => {
            if (!ended.aborted) onStep?.(step)
          }),
        ),
      )
    },
    decrypt: async (handle, { signal } = {}) => {
      const late = () => timedOut('CoFHE decrypt failed', decryptTimeoutMs)
      return await withDeadline(clock, decryptTimeoutMs, signal, late, (ended) =>
        decryptWithFreshPermit(handle).catch((error: unknown) => {
          ended.throwIfAborted()
          throw toCoprocessorError(error, 'CoFHE decrypt failed')
        }),
      )
    },
  }
}
