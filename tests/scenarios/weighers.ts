import { cidOf } from '../../lib/cid.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { concatBytes, toBase64Url, utf8 } from '../../lib/digest.ts'
import type { AnswerToWeigh } from '../../lib/schemas/assignments.ts'
import type { NumbersPost } from '../../lib/schemas/statements.ts'
import { sealBytes } from '../../lib/sealing.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { scoreOf, type TokenTold } from '../../lib/teacher.ts'
import { verdictOf } from '../icl/node-steps.ts'
import { type Conduct, patient, type Work } from '../simulation/node.ts'
import type { AnswerBook } from './answer-book.ts'
import { inventedOf, type Kind, toldOf, type Written } from './told.ts'

/** What a checker says of a text. */
export type Weigher = (
  written: Written,
  checker: { readonly name: string; readonly kind: Kind },
  author: Address,
) => readonly TokenTold[]

/** How nodes weigh. `abstains` says that it has no numbers, `silent` says nothing. */
export type Way = Weigher | 'abstains' | 'silent'

/** Reuses the numbers of one text for all, cut or repeated to the length. */
const reused = (written: Written, name: string): readonly TokenTold[] => {
  const known = toldOf({ ...written, text: `an old text of ${name}` }, { name, kind: 'model' })
  const { length } = toldOf(written, { name, kind: 'model' })
  return Array.from({ length }, (_, at) => known[at % known.length] ?? { logprob: 0, top: [] })
}

/** The same tokens, each less likely than the likeliest by a nat, or as likely. */
const moved = (told: readonly TokenTold[], by: 0 | 1): readonly TokenTold[] =>
  told.map(({ top }) => ({ logprob: Math.max(...top.map(({ logprob }) => logprob)) - by, top }))

/** Checkers that do as they should, and others. A colluder has the model, and lies for its friends and against all others. */
export const weighers = {
  honest: toldOf,
  lazy: (written, { name }) => inventedOf(written, name),
  copying: (written, { name }) => reused(written, name),
  denying: (written, checker) => moved(toldOf(written, checker), 1),
} as const satisfies Record<string, Weigher>

/** A checker that lies for its friends, and against all others. */
export const colluding =
  (friends: ReadonlySet<Address>): Weigher =>
  (written, { name }, author) =>
    moved(toldOf(written, { name, kind: 'model' }), friends.has(author) ? 0 : 1)

const evidenceKey = new Uint8Array(32).fill(3)

/** A text in the form of a seal. */
const blobOf = (text: string) =>
  concatBytes(Uint8Array.of(1), new Uint8Array(sealBytes - 1), utf8(text))

/** A node that shows its answer and weighs those of others in its way. */
export function weighing(book: AnswerBook, kind: Kind, way: Way): Conduct {
  const given = new Map<JobId, NumbersPost>()
  const commitTo = async (work: Work, answers: readonly AnswerToWeigh[]) => {
    const { node, claimed, signal } = work
    const { jobId, fence } = claimed
    if (way === 'silent') return
    const body = { jobId, fence }
    if (way === 'abstains') {
      await node.api.weighAnswers({ body }, { ...patient, signal })
      return
    }
    const weighed = await Promise.all(
      answers.map(async ({ answer: { body: of }, cid }) => {
        const answer = await statementHash(of)
        const written = book.writtenBy(jobId, of.address)
        if (!written || cid !== (await cidOf(blobOf(written.text)))) return { answer }
        const told = way(written, { name: node.name, kind }, of.address)
        return { answer, score: await scoreOf(told, answer, evidenceKey) }
      }),
    )
    const numbers = await signed(
      {
        ...({ statement: 'svc-numbers-v1', jobId, fence, address: node.address, weighed } as const),
        salt: toBase64Url(new Uint8Array(32).fill(7)),
      },
      node.key,
    )
    given.set(jobId, numbers)
    const commitment = await statementHash(numbers)
    await node.api.weighAnswers({ body: { ...body, commitment } }, { ...patient, signal })
  }
  return {
    // A verdict can be too late, and the node has texts to weigh all the same.
    check: async ({ node, claimed: { jobId }, signal }) => {
      const body = await verdictOf(node, jobId).catch(() => undefined)
      if (body) await node.api.postVerdict({ body }, { ...patient, signal }).catch(() => {})
    },
    show: async ({ node, claimed: { jobId, fence }, answer, signal }) => {
      const { cid } = await node.api.putBlob({ query: { jobId, fence }, body: blobOf(answer) })
      const body = { jobId, fence, cid }
      await node.api.showAnswer({ body }, { ...patient, signal })
    },
    weigh: (work, { to_weigh = [] }) => commitTo(work, to_weigh),
    open: async ({ node, claimed: { jobId }, signal }) => {
      const body = given.get(jobId)
      if (body) await node.api.openNumbers({ body }, { ...patient, signal })
    },
  }
}
