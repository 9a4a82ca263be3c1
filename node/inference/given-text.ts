/*
 * Problem: a model must say how likely the tokens of a given text are. The servers that support this have no common API: vLLM has
 * `prompt_logprobs`, others `echo`, and their replies have three forms.
 *
 * Idea: send the prompt with the text as the beginning of the model's own answer, and ignore the one token that is generated. The reply
 * covers the whole prompt. The text is searched from the end, because a chat template surrounds it with tokens of its own.
 *
 * Failure cases: no likeliest tokens, or the text is not found, as when tokens split a character (`provider-protocol-wrong`); the reply
 * exceeds `maxAnswerBytes` (`provider-answer-too-large`). Then the node reports no score.
 */

import { z } from 'zod'
import { type TeacherApi, teacherApis } from '../../lib/providers.ts'
import type { TokenTold } from '../../lib/teacher.ts'
import { ProviderFault } from './provider-fault.ts'
import { notOfProtocol } from './provider-fetch.ts'

/** Fireworks gives up to 5, vLLM and Together up to 20. */
const likeliest = 5

/** The fields of a chat completion besides the model and the messages. The last message is the given text. */
export const givenTextFields: Readonly<Record<TeacherApi, object>> = {
  prompt_logprobs: {
    prompt_logprobs: likeliest,
    return_token_ids: true,
    add_generation_prompt: false,
    continue_final_message: true,
  },
  echo: { echo: true, logprobs: likeliest },
}

/** What the reply says of one token of the prompt, the given text included. The first token has no log-probability. */
type Told = { readonly token: string } & Partial<TokenTold>

const Entry = z.object({ logprob: z.number(), decoded_token: z.string().nullish() })
const PromptLogprobs = z.object({
  prompt_logprobs: z.array(z.record(z.string(), Entry).nullable()),
  prompt_token_ids: z.array(z.int()),
})

/** vLLM's form: one entry per token, keyed by token id. The entry does not mark the token itself. */
const ofPromptLogprobs = PromptLogprobs.transform(
  ({ prompt_logprobs: places, prompt_token_ids: ids }): readonly Told[] =>
    ids.map((id, at) => {
      const place = places[at] ?? {}
      const own = place[String(id)]
      const top = Object.values(place).map(({ logprob, decoded_token: token }) => ({
        token: token ?? '',
        logprob,
      }))
      return { token: own?.decoded_token ?? '', ...(own && { logprob: own.logprob, top }) }
    }),
)

const Columns = z
  .object({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number().nullable()),
    top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullish(),
  })
  .transform(({ tokens, token_logprobs: logprobs, top_logprobs: tops }): readonly Told[] =>
    tokens.map((token, at) => {
      const logprob = logprobs[at] ?? undefined
      const top = Object.entries(tops?.[at] ?? {}).map(([token, logprob]) => ({ token, logprob }))
      return { token, ...(logprob !== undefined && { logprob, top }) }
    }),
  )

const Token = z.object({ token: z.string(), logprob: z.number().nullish() })
const Content = z
  .object({
    content: z.array(
      Token.extend({ top_logprobs: z.array(Token.extend({ logprob: z.number() })).nullish() }),
    ),
  })
  .transform(({ content }): readonly Told[] =>
    content.map(({ token, logprob, top_logprobs: top }) => ({
      token,
      ...(typeof logprob === 'number' && { logprob, top: top ?? [] }),
    })),
  )

const Echoed = z.object({ logprobs: z.union([Columns, Content]) })
/** Together puts the prompt beside the choices, others put it at the beginning of the choice. */
const ofEcho = z.union([
  z.object({ prompt: z.tuple([Echoed]) }).transform(({ prompt: [{ logprobs }] }) => logprobs),
  z.object({ choices: z.tuple([Echoed]) }).transform(({ choices: [{ logprobs }] }) => logprobs),
])

const forms: Readonly<Record<TeacherApi, z.ZodType<readonly Told[]>>> = {
  prompt_logprobs: ofPromptLogprobs,
  echo: ofEcho,
}

/** Returns the log-probabilities of each token of the given text. Throws ProviderFault. */
export function toldOf(reply: unknown, api: TeacherApi, text: string): readonly TokenTold[] {
  const notTold = (said: string) =>
    new ProviderFault('provider-protocol-wrong', `sent ${said}, so that no text can be scored`, {
      isPaid: true,
      remedy: `The server does not speak \`${api}\`. Set its \`teacher\` to ${othersThan(api)}, or name its \`takes.parts\` without \`teacher\``,
    })
  const parsed = forms[api].safeParse(reply)
  if (!parsed.success) {
    const fault = notOfProtocol(reply)
    throw fault.isPaid ? notTold('no log-probabilities of the given text') : fault
  }
  const told = parsed.data
  const end = told.reduce((length, { token }) => length + token.length, 0)
  const from = told
    .map(({ token }) => token)
    .join('')
    .lastIndexOf(text)
  if (from < 0 || end === 0) throw notTold('log-probabilities of another text')
  const tokens: TokenTold[] = []
  let at = 0
  for (const { token, logprob, top = [] } of told) {
    // The template's last token may reach into the text, or the text's last token past its end.
    const isInside = token !== '' && at >= from && at + token.length <= from + text.length
    at += token.length
    if (!isInside) continue
    if (logprob === undefined || top.length === 0) throw notTold('no likeliest tokens')
    tokens.push({ logprob, top })
  }
  if (tokens.length === 0) throw notTold('log-probabilities of another text')
  return tokens
}

const othersThan = (api: TeacherApi): string =>
  teacherApis.flatMap((other) => (other === api ? [] : `\`${other}\``)).join(' or ')
