import type { Clock } from '../../lib/clock.ts'
import { promptText } from '../../lib/prompt.ts'
import type { TokenTold } from '../../lib/teacher.ts'
import type { InferenceProvider } from '../../node/inference/provider.ts'
import { callProvider } from '../../node/inference/provider-call.ts'
import { ProviderReport } from '../../node/inference/provider-report.ts'
import type { Log } from '../../node/log.ts'
import type { Dice } from './dice.ts'

/** Says half of a text, and another end: under `similar/2` neither the same nor a contradiction. */
const otherThan = (text: string): string =>
  `${text.slice(0, Math.ceil(text.length / 2))} and sailors rely on its beam whenever clouds hide every star`

/** How a provider treats one node. */
export type ProviderHabits = {
  readonly thinkMs: readonly [number, number]
  /** How likely an answer is another one than all others get. */
  readonly disagrees: number
  /** How likely a call fails, and quotes the prompt and the API key as it does. */
  failures: number
  /** How likely a call is never answered. */
  hangs: number
}

/** A hosted provider: everybody who asks the same gets the same, mostly. */
export type SimulatedProvider = {
  /** Every text that was answered to a prompt. */
  readonly answers: ReadonlyMap<string, ReadonlySet<string>>
  /** The provider as one node reaches it; `onCalls` hears how many calls are under way. */
  of(options: {
    readonly apiKey: string
    readonly clock: Clock
    readonly log: Log
    readonly dice: Dice
    readonly habits: ProviderHabits
    readonly onCalls: (count: number) => void
    /** Hears of every call that does not go as it should. */
    readonly onTrouble: (kind: 'provider-disagreed' | 'provider-failed' | 'provider-hung') => void
  }): InferenceProvider
}

/** Makes a provider whose answers hold a mark that nobody else can know. */
export function createSimulatedProvider(marks: Dice): SimulatedProvider {
  const usual = new Map<string, string>()
  const answers = new Map<string, Set<string>>()
  const answerTo = (prompt: string, isOther: boolean): string => {
    const known =
      usual.get(prompt) ?? `The answer is output-${marks.fork(prompt).between(1e9, 2e9)}.`
    usual.set(prompt, known)
    const text = isOther ? otherThan(known) : known
    answers.set(prompt, (answers.get(prompt) ?? new Set()).add(text))
    return text
  }
  // One token a character, whose likelihood differs a little from node to node. Each tenth is less likely than another.
  const toldOf = (text: string, noise: Dice): readonly TokenTold[] =>
    Array.from(text, (token, at) => {
      const near = (logprob: number) => logprob + (noise.next() - 0.5) / 10
      const own = near(at % 10 === 0 ? -0.7 : -0.4)
      return {
        logprob: own,
        top: [token, `${token}?`].map((name, index) => ({
          token: name,
          logprob: index === 0 ? own : near(-0.6),
        })),
      }
    })
  return {
    answers,
    of: ({ apiKey, clock, log, dice, habits, onCalls, onTrouble }) => {
      let calls = 0
      const place = { name: 'openai', baseUrl: 'https://provider.test/v1' }
      const options = { ...place, keyVariable: 'OPENAI_API_KEY', apiKey, clock, log }
      const ask = async (prompt: string, signal: AbortSignal) => {
        await clock.sleep(dice.between(...habits.thinkMs), signal)
        if (dice.chance(habits.hangs)) {
          onTrouble('provider-hung')
          await clock.sleep(10 ** 9, signal)
        }
        if (!dice.chance(habits.failures)) {
          const isOther = dice.chance(habits.disagrees)
          if (isOther) onTrouble('provider-disagreed')
          return answerTo(prompt, isOther)
        }
        onTrouble('provider-failed')
        const status = dice.pick([429, 500, 503])
        const message = `key ${apiKey} may not ask "${prompt}"`
        throw new ProviderReport({ code: 'simulated', message }, { status })
      }
      return {
        weigh: ({ model, text, leftMs, signal }) =>
          callProvider(options, { model, leftMs, signal }, async ({ signal: ended }) => {
            await clock.sleep(dice.between(...habits.thinkMs), ended)
            return toldOf(text, dice.fork(text))
          }),
        complete: async (completion) => {
          onCalls(++calls)
          try {
            const text = await callProvider(options, completion, ({ signal }) =>
              ask(promptText(completion.prompt), signal),
            )
            return { text, ended: 'stop' }
          } finally {
            calls--
          }
        },
      }
    },
  }
}
