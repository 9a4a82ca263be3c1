import { AnswerRefused, ask } from '../../../lib/outgoing.ts'
import { systemFetch } from '../../../lib/system-fetch.ts'
import { type Case, same, that } from './case.ts'

const encodings = ['gzip', 'deflate', 'br', 'zstd', 'x-gzip']

/** How requests leave, to a server whose answer has the encoding that the path names. */
export const outgoingCases = (packedUrl: string): readonly Case[] =>
  encodings.map((encoding) =>
    that(`an answer that is packed with ${encoding} is refused by its header`, async () => {
      const outgoing = { signal: AbortSignal.timeout(10_000), maxBytes: 1_000 }
      const outcome = await ask(systemFetch, `${packedUrl}/${encoding}`, outgoing).then(
        () => 'taken',
        (error: unknown) => (error instanceof AnswerRefused ? error.message : String(error)),
      )
      same('the outcome', outcome, `packed its answer (${encoding}), although it was asked not to`)
    }),
  )
