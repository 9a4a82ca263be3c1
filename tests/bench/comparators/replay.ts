/*
 * Problem: three real models on a few cores answer too slowly to see what many jobs do to a node's standing.
 *
 * Idea: a provider that replays a recording of the real model (`recordReal`). Each node has a path of its own, behind which are the texts
 * of its processor level or copy, and how likely it finds the texts of the others. So the service sees what real servers told.
 *
 * Invariants: a text or a score that was not recorded is refused with status 400. Nothing is invented.
 * Failure cases: the names of a text's own tokens were not recorded, so pieces of the text stand for them. All nodes show the same pieces.
 */

import { z } from 'zod'
import { parseJson } from '../../../lib/parse-json.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import type { RecordedAnswers, RecordedQuestion } from './answers-file.ts'
import { realName, type Weights } from './real-models.ts'
import { promptOfLine, setOf } from './record-real.ts'

/** A node: its processor level and weights, and the name of its texts in the recording. */
export type Seat = { readonly level: string; readonly weights: Weights; readonly texts: string }

const Ask = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1),
  prompt_logprobs: z.int().optional(),
})
type Message = z.output<typeof Ask>['messages'][number]

/** Returns the text that a seat gives to a question. */
export const textOf = ({ runs, weak }: RecordedQuestion, { texts }: Seat): string | undefined =>
  runs[texts] ?? weak[texts]

/** Starts a provider; the node of the seat with the number N asks at `/N/v1`. */
export const startReplay = (
  sets: RecordedAnswers,
  seats: readonly Seat[],
): Promise<LocalServer> => {
  const keyOf = (messages: readonly Message[]) =>
    JSON.stringify(messages.map(({ role, content }) => [role, content]))
  const questions = seats.map(({ level, weights }) => {
    const set = sets[setOf(level, weights)] ?? []
    return new Map(set.map((one) => [keyOf(promptOfLine(one.q).messages as Message[]), one]))
  })
  return startServer((response, { path, body }) => {
    const [, at = '', , ...what] = path.split('/')
    const seat = seats[Number(at)]
    if (what.join('/') === 'models') return answerJson(response, 200, { data: [{ id: realName }] })
    const ask = Ask.safeParse(parseJson(body)).data
    const given = ask?.prompt_logprobs === undefined ? undefined : ask.messages.at(-1)
    const messages = ask?.messages.slice(0, given ? -1 : undefined) ?? []
    const question = questions[Number(at)]?.get(keyOf(messages))
    const found =
      question && seat && (given ? weighed(question, given.content) : textOf(question, seat))
    if (found === undefined) {
      const message = 'The recording has no answer to this request'
      return answerJson(response, 400, { error: { message, type: 'invalid_request_error' } })
    }
    const content = typeof found === 'string' ? found : ''
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
    const whole = { id: 'replay', object: 'chat.completion', created: 0, model: realName }
    answerJson(response, 200, {
      ...{ ...whole, choices: [choice] },
      ...(typeof found === 'object' && found),
    })
  })
}

/** Returns vLLM's `prompt_logprobs` of a recorded text; undefined when it has none. */
function weighed({ runs, weak, told = {} }: RecordedQuestion, text: string) {
  const [name = ''] = Object.entries({ ...runs, ...weak }).find(([, one]) => one === text) ?? []
  const rows = told[name]
  if (!rows) return undefined
  const characters = [...text]
  const piece = (at: number) => Math.floor((at * characters.length) / rows.length)
  const ids = new Map<string, number>()
  const idOf = (token: string) => ids.get(token) ?? ids.set(token, ids.size).get(token) ?? 0
  const places = rows.map(({ logprob, top }, at) => {
    const own = top.find(([, other]) => other === logprob)?.[0] ?? `own ${at}`
    const decoded = characters.slice(piece(at), piece(at + 1)).join('')
    const all = [...top, [own, logprob] as const].map(
      ([token, of]) =>
        [idOf(token), { logprob: of, decoded_token: token === own ? decoded : token }] as const,
    )
    return { id: idOf(own), place: Object.fromEntries(all) }
  })
  return {
    prompt_logprobs: [null, ...places.map(({ place }) => place)],
    prompt_token_ids: [idOf('<|im_start|>'), ...places.map(({ id }) => id)],
  }
}
