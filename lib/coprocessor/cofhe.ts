import type { LocalAccount } from 'viem'
import type { Fetch } from '../api.ts'
import { type ChainEndpoint, type ChainWriter, createChainWriter } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import { SvcError } from '../svc-error.ts'
import { isPermitRefused, timedOut, toCoprocessorError, toEncryptError } from './cofhe-errors.ts'
import type { Connection } from './connection.ts'
import type { Coprocessor } from './coprocessor.ts'
import { coprocessorUrlsOf } from './coprocessor-urls.ts'
import { createStepTeller } from './encrypt-steps.ts'
import { connectMock, mockChainId } from './mock-connection.ts'
import { connectProduction } from './production-connection.ts'
import type { Prover } from './prover.ts'
import { createSelfPermit, type PermitNews } from './self-permit.ts'

const encryptAttempts = 3
const encryptWaitMs = 2000
const uint128Max = (1n << 128n) - 1n

/** Which wallet decrypts where; timeouts are for one whole call, retries included. */
export type CofheOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly clock: Clock
  /** Where the coprocessor is, on chains other than 31337; left out where the chain is a known one. */
  readonly coprocessor?: CoprocessorUrls | undefined
  /** Needed to encrypt on chains other than 31337. */
  readonly prover?: Prover | undefined
  /** For the keys of the coprocessor. */
  readonly fetch?: Fetch
  /** Told of each permit that is made. */
  readonly onPermit?: (news: PermitNews) => void
  readonly encryptTimeoutMs?: number
  readonly decryptTimeoutMs?: number
}

/** A coprocessor whose permit can be made, and whose keys can be fetched, before they are needed. */
export type CofheCoprocessor = Coprocessor & {
  /** Makes the wallet's permit; without it, the first decryption does. Throws the errors of `decrypt`. */
  readonly makePermit: (signal?: AbortSignal) => Promise<void>
  /** Fetches the network's keys, which the first encryption would do; throws `coprocessor-unavailable` or `coprocessor-too-many-requests`. */
  readonly fetchKeys: (signal?: AbortSignal) => Promise<void>
}

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

const globalFetch: Fetch = (request) => fetch(request)

function connectionOf(options: CofheOptions, chain: ChainWriter): Connection {
  const { chainId, coprocessor, clock, prover = noProver, fetch = globalFetch } = options
  if (chainId === mockChainId) return connectMock(options, chain)
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

/**
 * Reaches the coprocessor through its SDK as one wallet: in the SDK's mock mode on chain 31337, with real ciphertexts and
 * proofs on any other. Throws SvcError `coprocessor-urls-unknown` or `coprocessor-not-https`, and `chain-not-local` in mock mode.
 */
export const createCofheCoprocessor = (options: CofheOptions): CofheCoprocessor => {
  const { clock } = options
  // A proof takes ten seconds on an idle machine, and a machine with proofs to make is not idle.
  const usualEncryptMs = options.chainId === mockChainId ? 120_000 : 300_000
  const { encryptTimeoutMs = usualEncryptMs, decryptTimeoutMs = 60_000 } = options
  const chain = createChainWriter(options)
  const permit = createSelfPermit(chain, clock, options.onPermit)
  const connection = connectionOf(options, chain)

  const decryptOnce = async (handle: bigint): Promise<bigint> =>
    connection.decrypt(handle, await permit.current())
  const decryptWithFreshPermit = (handle: bigint): Promise<bigint> =>
    decryptOnce(handle).catch((error: unknown) => {
      if (!isPermitRefused(error)) throw error
      permit.drop()
      return decryptOnce(handle)
    })
  const decrypting = async <T>(
    signal: AbortSignal | undefined,
    body: () => Promise<T>,
  ): Promise<T> => {
    const late = () => timedOut('CoFHE decrypt failed', decryptTimeoutMs)
    return await withDeadline(clock, decryptTimeoutMs, signal, late, (ended) =>
      body().catch((error: unknown) => {
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
    decrypt: (handle, { signal } = {}) => decrypting(signal, () => decryptWithFreshPermit(handle)),
    makePermit: (signal) =>
      decrypting(signal, async () => {
        await permit.current()
      }),
  }
}
