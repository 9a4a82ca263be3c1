import type { Usage as AnswerUsage, Ended } from '../../lib/schemas/answer.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { TokenTold } from '../../lib/teacher.ts'

/** Tokens, as the provider counted them. */
export type Usage = Readonly<AnswerUsage>

/** One inference: an already decrypted prompt for one model. */
export type Completion = {
  readonly model: string
  readonly prompt: PromptDocument
  readonly maxOutputTokens: number
  /** Milliseconds until an answer is too late. May grow. Left out for a trial, which is repeated. */
  readonly leftMs?: (() => number) | undefined
  readonly signal?: AbortSignal | undefined
  /** Counts a request before it is made. False when the job has used up its requests: then the last failure stands. */
  readonly mayCall?: (() => boolean) | undefined
  /** Receives the tokens of an answer, useful or not, if the provider counts them. */
  readonly onUsage?: ((usage: Usage) => void) | undefined
}

/** A model's answer. */
export type Completed = {
  /** The text as it is sealed (`writeAnswer`), never empty and never invented. */
  readonly text: string
  readonly ended: Ended
  /** What this answer took, without the tries that failed before it. Left out if the provider does not count. */
  readonly usage?: Usage
}

/** A text to score as the answer to a prompt, whether or not a model wrote it. */
export type GivenText = Omit<Completion, 'maxOutputTokens'> & { readonly text: string }

/** A hosted LLM provider (spec 4). Throws SvcErrors whose codes are abort reasons, `provider-...` or `prompt-not-supported`. */
export interface InferenceProvider {
  complete(completion: Completion): Promise<Completed>
  /** Returns how likely each token of a given text is. Left out if the provider does not tell. */
  weigh?(given: GivenText): Promise<readonly TokenTold[]>
}
