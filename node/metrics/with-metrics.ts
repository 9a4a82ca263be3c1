import type { z } from 'zod'
import { elapsedSince } from '../../lib/clock.ts'
import { providerNameOf } from '../../lib/providers.ts'
import type { NodeRecord } from '../../lib/schemas/nodes.ts'
import type { DaemonDeps } from '../daemon.ts'
import type { OfferedModel } from '../inference/models.ts'
import { abortReasonOf, isGone } from '../jobs/abort-reason.ts'
import type { NodeMetrics } from './metrics.ts'

/** Reads the node's record at the ICL. */
type ReadRecord = (signal?: AbortSignal) => Promise<z.output<typeof NodeRecord>>

/** Wraps the parts of a daemon so that its metrics count what they do. The record is read after each heartbeat that the ICL took. */
export function withMetrics(
  deps: DaemonDeps,
  metrics: NodeMetrics,
  readRecord: ReadRecord,
): DaemonDeps {
  const { api, chain, history } = deps
  return {
    ...deps,
    onStart: metrics.started,
    api: {
      ...api,
      postHeartbeat: async (input, options) => {
        const answer = await api.postHeartbeat(input, options)
        if (answer.status !== 'ok') return answer
        metrics.heard(answer.eligible)
        if (input?.body.final !== true)
          // Without it the gauges are absent, as the ICL does not say.
          void readRecord(options?.signal).then(metrics.record, () => metrics.record(undefined))
        return answer
      },
    },
    chain: {
      ...chain,
      answersPaidFor: async (signal) => {
        const answers = await chain.answersPaidFor(signal)
        metrics.paidFor(answers)
        return answers
      },
    },
    history: {
      append: (record) => {
        metrics.job(record)
        history.append(record)
      },
    },
    models: new Map(
      [...deps.models].map(([id, model]) => [id, timed(model, providerNameOf(id), deps, metrics)]),
    ),
  }
}

function timed(
  model: OfferedModel,
  name: string,
  { clock }: Pick<DaemonDeps, 'clock'>,
  metrics: Pick<NodeMetrics, 'call'>,
): OfferedModel {
  const { provider } = model
  const measure = async <T>(call: Promise<T>): Promise<T> => {
    const begun = clock.monotonic()
    try {
      const answer = await call
      metrics.call(name, 'ok', elapsedSince(clock, begun))
      return answer
    } catch (error) {
      metrics.call(name, isGone(error) ? 'gone' : abortReasonOf(error), elapsedSince(clock, begun))
      throw error
    }
  }
  const { weigh } = provider
  return {
    ...model,
    provider: {
      complete: (completion) => measure(provider.complete(completion)),
      ...(weigh && { weigh: (given) => measure(weigh(given)) }),
    },
  }
}
