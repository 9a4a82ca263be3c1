import type { TermsOptions } from '../../lib/client/choose-terms.ts'
import type { Client } from '../../lib/client/client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { GuardOptions } from './guard.ts'
import type { ModelMap } from './model-names.ts'

/** What is logged of a request; never its question or answer. */
export type RequestNews = {
  /** The name of the caller's key. */
  caller?: string
  model?: string
  jobId?: string
  error?: unknown
  /** Why an answer that was given was not seen on chain. */
  unseen?: string
  /** Resolves when a stream that began early has its answer or has failed; never rejects. */
  ended?: Promise<void>
}

/** Options of a gateway. */
export type GatewayOptions = GuardOptions & {
  readonly client: Pick<Client, 'infer' | 'models' | 'storeKeyAhead' | 'keysAhead'>
  readonly clock: Clock
  readonly modelMap: ModelMap
  /** How many answers of a job have to match. */
  readonly agreement: Pick<TermsOptions, 'rule' | 'minMatches'>
  /** How many jobs run at once, and how many requests may wait for one to end. */
  readonly atOnce: number
  readonly maxWaiting: number
  /** Refuses what the service cannot honour instead of ignoring it. */
  readonly isStrict: boolean
  /** Told once of each parameter that was ignored. */
  readonly onIgnored: (parameter: string) => void
  /** Streams begin when the job is submitted or after this time, with a comment each such time; with the answer when left out. */
  readonly keepAliveMs?: number | undefined
  /** When set, keys are stored ahead. Called for each key, or with the error. */
  readonly storeAhead?: ((model: string, error?: unknown) => void) | undefined
  /** Gives a job up when a lack of nodes lasts this long. */
  readonly giveUpWhenStuckMs: number
  /** Called once for each request, after its answer or after the end of a stream that began early. */
  readonly onAnswered: (news: Answer) => void
  /** Cancels what is under way when it aborts. */
  readonly stopping: AbortSignal
}

/** An answered request, for the log. */
export type Answer = Omit<RequestNews, 'ended'> & {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly elapsedMs: number
}
