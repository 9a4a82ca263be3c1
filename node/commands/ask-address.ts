import { explainError } from '../../lib/host/explain-error.ts'
import { parseConfig, withBaseUrls } from '../config.ts'
import type { Environment } from '../environment.ts'
import type { Prompts } from './prompts.ts'

/** Returns what is wrong with some fields, in the words of the configuration's errors. */
export const mistakeIn = (
  fields: Readonly<Record<string, unknown>>,
  environment: Environment = {},
): string | undefined => {
  try {
    const rest = {
      attestation_backend: 'mock',
      icl_endpoint: 'http://localhost',
      cofhe_endpoint: 'http://localhost',
      supported_model_ids: ['openai:x'],
    }
    parseConfig(withBaseUrls({ ...rest, ...fields }, environment), {}, '')
    return undefined
  } catch (error) {
    const { message } = explainError(error)
    return (
      message
        .split('\n')
        .at(1)
        ?.replace(/^ *- [^:]*: /, '') ?? message
    )
  }
}

/** Asks until an address works, or the operator insists on it. */
export async function askAddress<T>(
  prompts: Prompts,
  question: {
    readonly message: string
    readonly placeholder: string
    readonly field: string
    /** An address to try first, without asking. */
    readonly given?: string | undefined
    /** Returns what is wrong with an address. By default the error of the field. */
    readonly check?: (text: string) => string | undefined
  },
  tryOut: (address: string) => Promise<T | undefined>,
): Promise<{ readonly address: string; readonly result: T | undefined }> {
  const { message, placeholder, field } = question
  const check = question.check ?? ((text: string) => mistakeIn({ [field]: text }))
  let initial: string | undefined
  for (let next = question.given; ; next = undefined) {
    const address = next ?? (await prompts.text({ message, placeholder, initial, check }))
    initial = address
    const mistake = check(address)
    if (mistake !== undefined) {
      prompts.complain(`${address}: ${mistake}`)
      continue
    }
    const result = await tryOut(address)
    if (result !== undefined) return { address, result }
    if (await prompts.confirm('Use this address all the same?', false)) return { address, result }
  }
}

/** Runs `work` and tells the operator of an error. Rethrows only Ctrl-C. */
export async function tried<T>(
  prompts: Prompts,
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  let stop: AbortSignal | undefined
  try {
    return await prompts.wait(message, (signal) => {
      stop = signal
      return work(signal)
    })
  } catch (error) {
    stop?.throwIfAborted()
    const { message: why, hint } = explainError(error)
    prompts.complain(hint === undefined ? why : `${why}\n${hint}`)
    return undefined
  }
}
