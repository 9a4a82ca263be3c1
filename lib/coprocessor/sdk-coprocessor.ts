import { type ChainWriter, createChainWriter } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { SvcError } from '../svc-error.ts'
import { systemFetch } from '../system-fetch.ts'
import { isPermitRefused, timedOut, toCoprocessorError, toEncryptError } from './cofhe-errors.ts'
import type { CofheCoprocessor, CofheOptions } from './cofhe-options.ts'
import type { Connection } from './connection.ts'
import { createStepTeller } from './connection.ts'
import { coprocessorUrlsOf, mockChainId } from './coprocessor-urls.ts'
import { connectProduction } from './production-connection.ts'
import { type Prover, proofLimitMs } from './prover.ts'
import { createSelfPermit } from './self-permit.ts'

const encryptAttempts = 3
const encryptWaitMs = 2000
const uint128Max = (1n << 128n) - 1n

const checkHalf = (half: bigint): void => {
  if (half >= 0n && half <= uint128Max) return
  throw new SvcError('coprocessor-encrypt-failed', 'CoFHE encrypt failed: a half is no uint128', {
    hint: 'Split the key into two halves of 16 bytes.',
  })
}

const noProver: Prover = {
  prove: async () => {
    throw new SvcError('coprocessor-encrypt-failed', 'CoFHE encrypt failed: nothing makes proofs', {
      hint: 'Give the coprocessor a prover.',
    })
  },
}

async function connectionOf(options: CofheOptions, chain: ChainWriter): Promise<Connection> {
  const { chainId, coprocessor, clock, prover = noProver, fetch = systemFetch } = options
  if (chainId === mockChainId) {
    // The SDK's client and viem's list of chains, which real networks need not load.
    const { connectMock } = await import('./mock-connection.ts')
    return connectMock(options, chain)
  }
  const urls = coprocessorUrlsOf(chainId, coprocessor)
  return connectProduction({ chainId, urls, prover, fetch, clock }, chain)
}

const isFinal = (error: unknown): boolean => error instanceof SvcError && !error.retryable

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
      if (attempt === encryptAttempts || isFinal(error)) throw toEncryptError(error)
      await clock.sleep(encryptWaitMs * attempt, signal)
    }
  }
}

/** Implements `createCofheCoprocessor` once the SDK is loaded. */
export const createSdkCoprocessor = async (options: CofheOptions): Promise<CofheCoprocessor> => {
  const { clock } = options
  const usualEncryptMs = options.chainId === mockChainId ? 120_000 : proofLimitMs
  const { encryptTimeoutMs = usualEncryptMs, decryptTimeoutMs = 60_000 } = options
  const chain = createChainWriter(options)
  const permit = createSelfPermit(chain, clock, options.onPermit)
  const connection = await connectionOf(options, chain)

  const decryptOnce = async (handle: bigint, signal: AbortSignal): Promise<bigint> =>
    connection.decrypt(handle, await permit.current(), signal)
  const decryptWithFreshPermit = (handle: bigint, signal: AbortSignal): Promise<bigint> =>
    decryptOnce(handle, signal).catch((error: unknown) => {
      if (!isPermitRefused(error)) throw error
      permit.drop()
      return decryptOnce(handle, signal)
    })
  const decrypting = async <T>(
    signal: AbortSignal | undefined,
    body: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const late = () => timedOut('CoFHE decrypt failed', decryptTimeoutMs)
    return await withDeadline(clock, decryptTimeoutMs, signal, late, (ended) =>
      body(ended).catch((error: unknown) => {
        ended.throwIfAborted()
        throw toCoprocessorError(error, 'CoFHE decrypt failed')
      }),
    )
  }

  return {
    encrypt: async (high, low, { signal, onStep } = {}) => {
      checkHalf(high)
      checkHalf(low)
      const late = () => timedOut('CoFHE encrypt failed', encryptTimeoutMs)
      return await withDeadline(clock, encryptTimeoutMs, signal, late, (ended) =>
        retryEncrypt(clock, ended, async () => {
          const steps = createStepTeller(clock, (news) => {
            if (!ended.aborted) onStep?.(news)
          })
          const encrypted = await connection.encrypt({ high, low }, steps, ended)
          steps.end()
          return encrypted
        }),
      )
    },
    fetchKeys: async (signal) => {
      const late = () => timedOut('CoFHE encrypt failed', encryptTimeoutMs)
      await withDeadline(clock, encryptTimeoutMs, signal, late, connection.fetchKeys)
    },
    decrypt: (handle, { signal } = {}) =>
      decrypting(signal, (ended) => decryptWithFreshPermit(handle, ended)),
    makePermit: (signal) =>
      decrypting(signal, async () => {
        await permit.current()
      }),
  }
}
