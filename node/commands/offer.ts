import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { promptOfText } from '../../lib/prompt.ts'
import { providerNameOf } from '../../lib/providers.ts'
import { WithdrawalReason } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Offer, OfferedModel, OfferedModels, Withdrawal } from '../inference/models.ts'
import { ProviderError } from '../inference/provider-call.ts'
import type { Log } from '../log.ts'
import { isRetryable, untilReached } from './until-reached.ts'

/*
 * Problem: a list of models does not tell whether a provider runs one. A key without that permission, or an account without credit, fails
 * each job that the node draws.
 *
 * Idea: an inference that fails so takes the models back. As a probe cannot tell when that is over, the node tries each model out with a
 * short prompt, at once and then less and less often. A refusal in passing, or of one model or one prompt only, so costs the others little.
 *
 * Invariant: jobs under way go on: the models stay served, and are only not offered. The heartbeat names them, so that the ICL refuses a
 * client for now, and not for good.
 */

const refusals = ['provider-key-refused', 'provider-quota-used-up']
/** The refusal of one model alone, such as one that the provider has removed. */
const modelUnknown = 'provider-model-unknown'
const prompt = promptOfText('Say yes.')
/** Timers take no longer than 24 days, and no provider means more than a day. */
const longestWaitMs = 86_400_000
/** A shorter rate limit is over before a new job comes. One that has the node gets it back after the wait. */
const shortestWithdrawalMs = 30_000

type Deps = { readonly clock: Clock; readonly log: Log; readonly stop: AbortSignal }

/** Makes an offer without models, and the models to serve jobs with: their failures take models out of the offer for as long as they last. */
export function createOffer(models: OfferedModels, { clock, log, stop }: Deps) {
  const now = new Map<string, OfferedModel>()
  const withdrawn = new Map<string, Withdrawal>()
  /** The models that are tried out. */
  const tried = new Set<string>()
  const listeners: (() => void)[] = []
  const changed = () => {
    for (const tell of listeners) tell()
  }
  const add = (ids: readonly string[]) => {
    for (const id of ids) {
      const model = served.get(id)
      if (model) now.set(id, model)
      withdrawn.delete(id)
    }
    changed()
  }

  /** Takes models out of the offer until `passed` resolves or fails in another way. */
  const withdraw = (
    ids: readonly string[],
    why: SvcError,
    passed: (id: string) => Promise<unknown>,
    waitMs?: number,
  ) => {
    const gone = ids.filter((id) => now.delete(id))
    if (gone.length === 0) return
    const since = clock.monotonic()
    const leftMs = () => (waitMs === undefined ? undefined : waitMs - elapsedSince(clock, since))
    const reason = WithdrawalReason.parse(why.code)
    for (const id of gone) withdrawn.set(id, { reason, leftMs })
    log.warning(`Models are not offered for now: ${gone.join(', ')}: ${errorText(why)}`)
    changed()
    for (const id of gone) {
      const back = () => {
        if (stop.aborted) return
        log.info(`Offering ${id} again`)
        add([id])
      }
      passed(id).then(back, back)
    }
  }

  /** Resolves once the model answers. Credit may be enough for few tokens only, so it may take as many as the job. */
  const answers = async (id: string, maxOutputTokens: number) => {
    tried.add(id)
    await untilAnswered(models.get(id), maxOutputTokens, { clock, stop }).finally(() =>
      tried.delete(id),
    )
  }

  const notice = (id: string, error: unknown, maxOutputTokens: number) => {
    const isOfSame = (other: string) => providerNameOf(other) === providerNameOf(id)
    if (isRefusal(error)) {
      const isAnswering = (other: string) => answers(other, maxOutputTokens)
      const refused = error.code === modelUnknown ? [id] : [...now.keys()].filter(isOfSame)
      withdraw(refused, error, isAnswering)
    }
    if (!(error instanceof ProviderError) || error.code !== 'provider-rate-limited') return
    if (error.askedWaitMs === undefined || error.askedWaitMs < shortestWithdrawalMs) return
    const waitMs = Math.min(error.askedWaitMs, longestWaitMs)
    const isPassed = async () => {
      await clock.sleep(waitMs, stop)
      // The provider may have refused its key meanwhile.
      if ([...tried].some(isOfSame)) await answers(id, maxOutputTokens)
    }
    withdraw([id], error, isPassed, waitMs)
  }

  const watched = (id: string, { provider, ...model }: OfferedModel): OfferedModel => ({
    ...model,
    provider: {
      ...provider,
      complete: (completion) =>
        provider.complete(completion).catch((error: unknown) => {
          notice(id, error, completion.maxOutputTokens)
          throw error
        }),
    },
  })
  const served: OfferedModels = new Map(
    [...models].map(([id, model]) => [id, watched(id, model)] as const),
  )
  const offer: Offer = { now, withdrawn, onChange: (tell) => void listeners.push(tell) }
  return { models: served, offer, add }
}

async function untilAnswered(
  model: OfferedModel | undefined,
  maxOutputTokens: number,
  { clock, stop }: Pick<Deps, 'clock' | 'stop'>,
): Promise<void> {
  const waitAsAsked = async (error: unknown) => {
    const { askedWaitMs } = error instanceof ProviderError ? error : {}
    if (askedWaitMs !== undefined) await clock.sleep(Math.min(askedWaitMs, longestWaitMs), stop)
    throw error
  }
  await untilReached(
    clock,
    stop,
    async () => {
      const asked = { prompt, maxOutputTokens, signal: stop }
      await model?.provider.complete({ ...asked, model: model.model }).catch(waitAsAsked)
    },
    () => {},
    (error) => isRefusal(error) || isRetryable(error),
  )
}

const isRefusal = (error: unknown): error is SvcError =>
  error instanceof SvcError && [...refusals, modelUnknown].includes(error.code)
