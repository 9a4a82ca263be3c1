import { z } from 'zod'
import { elapsedSince } from '../../lib/clock.ts'
import { systemClock } from '../../lib/system.ts'
import type { Expected } from './rows.ts'

const Answer = z.looseObject({
  choices: z
    .tuple([
      z.looseObject({
        message: z.looseObject({
          content: z.string().nullable(),
          tool_calls: z
            .array(
              z.looseObject({ function: z.object({ name: z.string(), arguments: z.string() }) }),
            )
            .optional(),
        }),
        finish_reason: z.string(),
      }),
    ])
    .optional(),
  error: z.looseObject({ code: z.string().nullable(), message: z.string() }).optional(),
})

/** The gateway's response to a request. */
export type Got = Expected & {
  readonly seconds: number
  readonly agreement?: string
  /** The error's message. */
  readonly message: string
}

/** Sends one request to a gateway. */
export async function ask(
  gateway: string,
  {
    model,
    user,
    more,
  }: { readonly model: string; readonly user: string; readonly more?: object | undefined },
): Promise<Got> {
  const began = systemClock.monotonic()
  const response = await fetch(`${gateway}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: user }], ...more }),
  })
  const { choices: [choice] = [], error } = Answer.parse(await response.json())
  const [call] = choice?.message.tool_calls ?? []
  const ignored = response.headers.get('x-svc-ignored')
  const agreement = response.headers.get('x-svc-agreement')
  return {
    status: response.status,
    seconds: elapsedSince(systemClock, began) / 1000,
    message: error?.message ?? '',
    ...(error && { code: error.code ?? '' }),
    ...(choice?.message.content && { says: choice.message.content }),
    ...(choice && { finish: choice.finish_reason }),
    ...(call && { calls: [call.function.name, call.function.arguments] as const }),
    ...(ignored && { ignored }),
    ...(agreement && { agreement }),
  }
}
