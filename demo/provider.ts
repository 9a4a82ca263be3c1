import { baseUrlVariable, builtIn, defaultKeyVariable, providerNameOf } from '../lib/providers.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { ProviderProbe } from './check-provider.ts'
import { standInModels } from './provider-standin.ts'
import { realModelLabel } from './real-model/install.ts'

/** The small model that answers when checkers need log-probabilities. */
export const ngramModel = 'vllm:ngram'

/** The real model of `--answers real`. */
export const realModel = 'vllm:smollm2-135m-instruct'

type Environment = Readonly<Record<string, string | undefined>>

/** The provider that answers, and the environment that each node needs for it. */
export type Provider = {
  readonly standIn: boolean
  /** Describes it for the user. */
  readonly description: string
  /** How to probe it, undefined for the stand-in. */
  readonly probe: ProviderProbe | undefined
  readonly envOf: (
    index: number,
    standInUrl: string | undefined,
  ) => Readonly<Record<string, string>>
}

const standInEnv =
  (name: string): Provider['envOf'] =>
  (index, standInUrl = '') => ({
    [defaultKeyVariable(name)]: `stand-in-node-${index + 1}`,
    [baseUrlVariable(name)]: standInUrl,
  })

/** The provider of `--answers real`: the demo's own server, whatever servers the environment names. */
export const realProvider: Provider = {
  standIn: true,
  description: realModelLabel,
  probe: undefined,
  envOf: standInEnv(providerNameOf(realModel)),
}

/** Chooses the provider for a model. Throws SvcError `model-unknown`. */
export function chooseProvider(model: string, environment: Environment): Provider {
  const name = providerNameOf(model)
  const urlVariable = baseUrlVariable(name)
  const keyVariable = defaultKeyVariable(name)
  const givenKey = environment[keyVariable] || undefined
  const givenUrl = environment[urlVariable] || undefined
  const label = builtIn[name]?.label
  if (name === '' || (label === undefined && givenUrl === undefined)) {
    const known = Object.entries(builtIn).map(([known, { models }]) => `${known}:${models[0]}`)
    const server = name === '' ? '' : ` (or set ${urlVariable} to an OpenAI-compatible server)`
    throw unknownModel(model, `${known.join(' or ')}${server}`)
  }
  if (givenKey === undefined && givenUrl === undefined) {
    if (![...standInModels, ngramModel].includes(model)) {
      throw unknownModel(
        model,
        `${standInModels.join(', ')} (or set ${keyVariable} to reach ${label})`,
      )
    }
    return {
      standIn: true,
      description:
        model === ngramModel
          ? `Counts of a small text answer: a very small model. Set ${urlVariable} for a real server.`
          : `A local stand-in answers instead of ${label}: no model runs. Set ${keyVariable} for the real one.`,
      probe: undefined,
      envOf: standInEnv(name),
    }
  }
  const instead = label === undefined ? '' : `, in place of ${label}`
  return {
    standIn: false,
    probe: { baseUrl: givenUrl ?? builtIn[name]?.baseUrl ?? '', urlVariable },
    description: givenUrl ? `${givenUrl} answers${instead}.` : `${label} answers.`,
    envOf: (index) => ({
      [keyVariable]: givenKey ?? `demo-node-${index + 1}`,
      ...(givenUrl !== undefined && { [urlVariable]: givenUrl }),
    }),
  }
}

const unknownModel = (model: string, known: string): SvcError =>
  new SvcError('model-unknown', `The model ${model} is not known here`, {
    hint: `Choose ${known}.`,
  })
