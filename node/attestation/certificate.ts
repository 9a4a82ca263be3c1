import { type Clock, elapsedSince, type MonotonicMs, unixSeconds } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { jittered } from '../jitter.ts'
import type { Log } from '../log.ts'
import { messages } from '../log-messages.ts'

const firstRetryMs = 5_000
const maxRetryMs = 10 * 60_000
/** The wait doubles at most so often, to 40 s, after a retryable error: an ICL that comes back needs its nodes. */
const doubledWhileAway = 3

/** The node's attestation certificate in its states (spec 3.1). */
export type Certificate = {
  /** Seconds until it expires. 0 when it has expired or the ICL does not accept it. */
  secondsLeft(): number
  /** Grows with every certificate. A call that failed under an older number may succeed now. */
  generation(): number
  /** Attests again. Concurrent calls share one attempt. Rejects when it fails. */
  renew(why: string): Promise<void>
  /** For a certificate that the ICL does not accept: attests again, and after a failure keeps retrying in the background. */
  recover(why: string): Promise<void>
  /** Sets the callback for the end of a time without a certificate. */
  onRenewed(callback: () => void): void
}

/** The dependencies of a certificate. */
export type CertificateOptions = {
  /** When the present certificate expires, in Unix seconds. 0 without one. */
  readonly expiresAt: number
  readonly backend: string
  /** Attests once, stores the record, and returns the new expiry in Unix seconds. */
  readonly attest: (signal: AbortSignal) => Promise<number>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Ends background retries. */
  readonly signal: AbortSignal
}

const stillborn = (): SvcError =>
  new SvcError('certificate-expired', 'the ICL gave a certificate that has expired already', {
    hint: 'Set the clock of this machine, for example with NTP.',
  })

const isPassing = (error: unknown): boolean =>
  (error instanceof ProblemError || error instanceof SvcError) && error.retryable

/** Keeps a certificate valid, starting from the recorded one. */
export function createCertificate(options: CertificateOptions): Certificate {
  const { clock, log, signal } = options
  let { expiresAt } = options
  let attempt: Promise<void> | undefined
  let recovery: Promise<void> | undefined
  /** The waits after the last try, and after the last certificate. Callers wait for them, too. */
  let pauseMs = 0
  let restMs = 0
  let triedAt: MonotonicMs | undefined
  let failures = 0
  let attestedAt: MonotonicMs | undefined
  let generation = 0
  let announce = () => {}
  /** True once an ERROR said that the node has no certificate. */
  let isToldLost = false

  const secondsLeft = () => Math.max(0, expiresAt - unixSeconds(clock))

  const retryMs = () => jittered(options.random, Math.min(firstRetryMs * 2 ** failures, maxRetryMs))

  const sayFailed = (why: string, waitMs: number) => {
    if (secondsLeft() > 0) return log.warning(messages.renewalFailed(why, secondsLeft()))
    if (!isToldLost) log.error(messages.certificateLost(why))
    isToldLost = true
    log.warning(messages.attestationFailed(why, waitMs))
  }

  const tryOnce = async (why: string) => {
    log.info(messages.attestationNeeded(why))
    try {
      const given = await options.attest(signal)
      if (given <= unixSeconds(clock)) throw stillborn()
      // The node must not attest at every call with an ICL that issues certificates and then refuses them.
      failures = elapsedSince(clock, attestedAt) < maxRetryMs ? failures + 1 : 0
      const wasLost = secondsLeft() === 0
      expiresAt = given
      isToldLost = false
      attestedAt = clock.monotonic()
      triedAt = attestedAt
      pauseMs = failures === 0 ? 0 : retryMs()
      restMs = pauseMs
      generation += 1
      log.info(messages.attested(options.backend, secondsLeft()))
      if (wasLost) announce()
    } catch (error) {
      signal.throwIfAborted()
      if (isPassing(error)) failures = Math.min(failures, doubledWhileAway)
      const waitMs = retryMs()
      failures += 1
      triedAt = clock.monotonic()
      pauseMs = waitMs
      sayFailed(errorText(error), waitMs)
      throw error
    }
  }

  const attemptOnce = (why: string): Promise<void> => {
    attempt ??= tryOnce(why).finally(() => {
      attempt = undefined
    })
    return attempt
  }

  const recoverInBackground = async () => {
    while (!signal.aborted && secondsLeft() === 0) {
      await clock.sleep(Math.max(0, pauseMs - elapsedSince(clock, triedAt)), signal)
      // The watchdog may have attested in the meantime.
      if (secondsLeft() === 0) await attemptOnce('trying again').catch(() => {})
    }
  }

  return {
    secondsLeft,
    generation: () => generation,
    renew: attemptOnce,
    onRenewed: (callback) => {
      announce = callback
    },
    async recover(why) {
      expiresAt = 0
      try {
        // Calls do not shorten the wait between tries.
        const rests = recovery !== undefined || elapsedSince(clock, attestedAt) < restMs
        if (attempt === undefined && rests) throw new Error('still not attested')
        await attemptOnce(why)
      } catch (error) {
        recovery ??= recoverInBackground()
          .catch(() => {})
          .finally(() => {
            recovery = undefined
          })
        throw error
      }
    },
  }
}
