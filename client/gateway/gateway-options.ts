import type { TermsOptions } from '../../lib/client/choose-terms.ts'
import type { Client } from '../../lib/client/client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { GuardOptions } from './guard.ts'
import type { ModelMap } from './model-names.ts'

/** What is told of a request once it is over; never what was asked or answered. */
export type RequestNews = {
  /** The name of the caller's key. */
  caller?: string
  model?: string
  jobId?: string
  error?: unknown
  /** Why an answer that was given was not seen on chain. */
  unseen?: string
  /** When a stream that began without its answer has it, or has failed; never rejects. */
  ended?: Promise<void>
}

/** What a gateway is made of. */
export type GatewayOptions = GuardOptions & {
  readonly client: Pick<Client, 'infer' | 'models' | 'storeKeyAhead' | 'keysAhead'>
  readonly clock: Clock
  readonly modelMap: ModelMap
  /** How many answers of a job have to match. */
  readonly agreement: Pick<TermsOptions, 'rule' | 'minMatches'>
  /** How many jobs run at once, and how many requests may wait for one to end. */
  readonly atOnce: number
  readonly maxWaiting: number
  /** Refuses what the service cannot honour, in place of ignoring it. */
  readonly isStrict: boolean
  /** Told once of each parameter that was ignored. */
  readonly onIgnored: (parameter: string) => void
  /** Begins streams when their job is submitted, or after this long, and sends comments this often; they begin with their answer when it is left out. */
  readonly keepAliveMs?: number | undefined
  /** Stores keys ahead, and is told of each that is stored or has failed; none are stored when it is left out. */
  readonly storeAhead?: ((model: string, error?: unknown) => void) | undefined
  /** Cancels a job when a lack of nodes lasts this long. */
  readonly giveUpWhenStuckMs: number
  /** Told of each request once, when it is over: when it is answered, or when a stream that began early has its answer or has failed. */
  readonly onAnswered: (news: Answer) => void
  /** Cancels what is under way when it aborts. */
  readonly stopping: AbortSignal
}

/** A request that was answered, as it may stand in a log. */
export type Answer = Omit<RequestNews, 'ended'> & {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly elapsedMs: number
}
