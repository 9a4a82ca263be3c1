import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { TokenTold } from '../../lib/teacher.ts'

/** Tokens as the provider counted them. */
export type Usage = { readonly input_tokens: number; readonly output_tokens: number }

/** One inference: an already decrypted prompt for one model. */
export type Completion = {
  readonly model: string
  readonly prompt: PromptDocument
  readonly maxOutputTokens: number
  /** Milliseconds until an answer is too late, which may become more: no try begins that could not end before. */
  readonly leftMs?: (() => number) | undefined
  readonly signal?: AbortSignal | undefined
  /** Hears of a try that failed and is repeated after `waitMs`. */
  readonly onFailedTry?: ((why: string, waitMs: number) => void) | undefined
  /** Hears what an answer took, useful or not, where the provider counts it. */
  readonly onUsage?: ((usage: Usage) => void) | undefined
}

/** A text that a model did or did not write, as the answer to a prompt. */
export type GivenText = Omit<Completion, 'maxOutputTokens'> & { readonly text: string }

/** A hosted LLM provider (spec 4); its errors are SvcErrors whose codes are abort reasons, `provider-...` or `prompt-not-supported`. */
export interface InferenceProvider {
  /** The model's answer as it is sealed (`writeAnswer`), never empty and never invented. */
  complete(completion: Completion): Promise<string>
  /** How likely each token of a given text is, without an answer; undefined where the provider does not tell. */
  weigh?(given: GivenText): Promise<readonly TokenTold[]>
}
