import { errorText } from '../../lib/host/explain-error.ts'
import { providerNameOf } from '../../lib/providers.ts'
import type { Offer, OfferedModels } from '../inference/models.ts'
import { probeProvider } from '../inference/probe.ts'
import { keyOf, type Provider } from '../inference/providers.ts'
import type { Log } from '../log.ts'
import type { CommandContext } from './context.ts'
import { createOffer } from './offer.ts'
import { untilReached } from './until-reached.ts'

type Offered = {
  readonly models: OfferedModels
  /** The models that are served, but never offered. */
  readonly keyless: OfferedModels
  readonly providers: readonly Provider[]
  readonly log: Log
  /** Ends the retries. */
  readonly stop: AbortSignal
}

/**
 * Probes every provider once and offers the models of those that respond. The models of a provider that is away join the offer when it
 * responds, and those of one that refuses a job leave it for as long, so that the node takes no job that must fail. An error that the
 * operator has to mend is logged. If every provider has one, the first is thrown (SvcError `provider-...`).
 */
export async function offerWhenReached(
  { models, keyless, providers, log, stop }: Offered,
  context: Pick<CommandContext, 'environment' | 'fetch' | 'clock'>,
): Promise<{ readonly models: OfferedModels; readonly offer: Offer }> {
  const { add, ...offered } = createOffer(models, { clock: context.clock, log, stop })
  const wrong: unknown[] = []
  const used = providers.filter(({ name }) =>
    [...models.keys()].some((id) => providerNameOf(id) === name),
  )
  const offer = async (provider: Provider, firstTry: () => void) => {
    const key = keyOf(provider, context.environment)
    const ids = [...models.keys()].filter((id) => providerNameOf(id) === provider.name)
    let wasAway = false
    const probe = async () => {
      await probeProvider(provider, key, context, stop)
      add(ids)
      if (wasAway)
        log.info(`The provider ${provider.name} responds now: offering ${ids.join(', ')}`)
    }
    try {
      await untilReached(context.clock, stop, probe, (why, nextMs) => {
        wasAway = true
        log.warning(
          `Models of ${provider.name} are not offered yet, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,
        )
        firstTry()
      })
    } catch (error) {
      wrong.push(error)
      log.error(`Models of ${provider.name} are not offered: ${errorText(error)}`)
    }
    firstTry()
  }
  // Waits for the first tries only. Further tries go on.
  await Promise.all(
    used.map((provider) => new Promise<void>((resolve) => void offer(provider, resolve))),
  )
  if (used.length > 0 && wrong.length === used.length) throw wrong[0]
  return { ...offered, models: new Map([...keyless, ...offered.models]) }
}
