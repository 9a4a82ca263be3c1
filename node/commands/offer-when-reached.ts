import type { Clock } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { providerNameOf } from '../../lib/providers.ts'
import type { OfferedModels } from '../inference/models.ts'
import { probeProvider } from '../inference/probe.ts'
import { keyOf, type Provider } from '../inference/providers.ts'
import type { Log } from '../log.ts'
import { messages } from '../log-messages.ts'
import type { CommandContext } from './context.ts'
import { untilReached } from './until-reached.ts'

type Offer = {
  readonly models: OfferedModels
  readonly providers: readonly Provider[]
  readonly log: Log
  /** Ends the retries. */
  readonly stop: AbortSignal
}

/**
 * Probes every provider once and returns the models of those that respond. The models of a provider that is away join the map when it
 * responds, so that the node takes no job that must fail. An error that the operator has to mend is logged. If every provider has one, the
 * first is thrown (SvcError `provider-...`).
 */
export async function offerWhenReached(
  { models, providers, log, stop }: Offer,
  context: Pick<CommandContext, 'environment' | 'fetch' | 'clock'>,
): Promise<OfferedModels> {
  const offered = new Map<string, NonNullable<ReturnType<OfferedModels['get']>>>()
  const wrong: unknown[] = []
  const used = providers.filter(({ name }) =>
    [...models.keys()].some((id) => providerNameOf(id) === name),
  )
  await Promise.all(
    used.map((provider) => {
      const key = keyOf(provider, context.environment)
      let wasAway = false
      const add = () => {
        const own = [...models].filter(([id]) => providerNameOf(id) === provider.name)
        for (const [id, model] of own) offered.set(id, model)
        const ids = own.map(([id]) => id)
        if (wasAway) log.info(messages.providerReached(provider.name, ids))
      }
      const fail = (error: unknown) => {
        wrong.push(error)
        log.error(messages.providerWrong(provider.name, errorText(error)))
      }
      const probe = () => probeProvider(provider, key, context, stop)
      return afterFirstTry(context.clock, stop, probe, add, fail, (why, nextMs) => {
        wasAway = true
        log.warning(messages.providerAway(provider.name, why, nextMs))
      })
    }),
  )
  if (used.length > 0 && wrong.length === used.length) throw wrong[0]
  return offered
}

/** Resolves when the first try has ended, with success or not. Further tries go on. */
function afterFirstTry(
  clock: Clock,
  stop: AbortSignal,
  probe: () => Promise<unknown>,
  onReached: () => void,
  onWrong: (error: unknown) => void,
  onAway: (why: string, nextMs: number) => void,
): Promise<void> {
  const first = Promise.withResolvers<void>()
  const tried = async () => {
    await probe()
    onReached()
  }
  untilReached(clock, stop, tried, (why, nextMs) => {
    onAway(why, nextMs)
    first.resolve()
  })
    .catch(onWrong)
    .finally(first.resolve)
  return first.promise
}
