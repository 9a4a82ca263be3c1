import { type Clock, unixSeconds } from '../../lib/clock.ts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import type { Takes } from '../../lib/prompt-needs.ts'
import { retryAfterOf } from '../../lib/retry-after.ts'
import { remedies } from '../eligibility.ts'
import type { Withdrawal } from '../inference/models.ts'
import type { Log } from '../log.ts'
import type { NodeApi } from '../node-api.ts'

/** How often the node sends a heartbeat to the ICL (spec 8). */
export const heartbeatPeriodMs = 60_000

/** The dependencies of a heartbeat, and what it reports. */
export type HeartbeatOptions = {
  readonly api: Pick<NodeApi, 'postHeartbeat'>
  readonly address: Address
  readonly version: string
  /** The models that the node offers now, and what each takes of a prompt. */
  readonly models: () => ReadonlyMap<string, { readonly takes?: Takes }>
  /** The models that it took back. */
  readonly withdrawn: () => ReadonlyMap<string, Withdrawal>
  readonly comparators: readonly ComparatorId[]
  readonly freeSlots: () => number
  /** False while the node itself takes no work, and has said why. */
  readonly takesWork: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** Sends one heartbeat. A `final` one tells the ICL that the node stops. */
export type SendHeartbeat = ReturnType<typeof createHeartbeat>

/** Makes the function that sends heartbeats. It logs why the ICL does not consider the node eligible, once per change. */
export function createHeartbeat(options: HeartbeatOptions) {
  const { api, log } = options
  let lastTimestamp = 0
  let lastReasons: string | undefined

  return async ({ final = false, signal }: { final?: boolean; signal?: AbortSignal } = {}) => {
    // The ICL ignores a timestamp that does not increase.
    lastTimestamp = Math.max(unixSeconds(options.clock), lastTimestamp + 1)
    const models = options.models()
    const answer = await api.postHeartbeat(
      {
        body: {
          operator_address: options.address,
          timestamp: lastTimestamp,
          version: options.version,
          free_slots: final ? 0 : options.freeSlots(),
          supported_model_ids: [...models.keys()],
          model_takes: [...models].flatMap(([model_id, { takes }]) =>
            takes ? [{ ...takes, model_id, parts: [...takes.parts] }] : [],
          ),
          withdrawn: [...options.withdrawn()].map(([model_id, { reason, leftMs }]) => {
            const ms = leftMs() ?? 0
            return { model_id, reason, ...(ms > 0 && { retry_after: retryAfterOf(ms) }) }
          }),
          supported_comparators: [...options.comparators],
          ...(final && { final }),
        },
      },
      { signal },
    )
    log.info('Heartbeat sent to ICL')
    const reasons = answer.reasons.map((reason) => remedies[reason]).join('; ')
    if (final || reasons === lastReasons) return
    if (reasons === '' && !options.takesWork()) return
    lastReasons = reasons
    if (reasons !== '') log.warning(`The ICL does not consider this node for jobs: ${reasons}`)
    else log.info('The ICL considers this node for jobs')
  }
}
