import { z } from 'zod'
import { Address, Base64Url32, CheckId, Hash32 } from '../codecs.ts'
import { MaxOutputTokens } from './jobs.ts'

/** What a token of a text may be short of the likeliest one: more counts as this much. In thousandths of a nat, like all of them. */
export const mostGap = 2_000

const Millinats = z.int().min(0).max(100_000)

/** The likeliest tokens at one place of a text, the likeliest first: what names each under the job's evidence key, and minus the logarithm of its probability. */
const TopTokens = z
  .array(z.tuple([z.int().min(0).max(0xffffffff), Millinats]))
  .min(1)
  .max(5)
export type TopTokens = z.output<typeof TopTokens>

const quarterGap = z
  .int()
  .min(0)
  .max(mostGap * 8_192)

/**
 * How likely the tokens of a delivered text are under a node's own model: what `teacher/1` tells. Its node vouches for it. Nobody can
 * compute it again without the provider.
 */
export const TeacherScore = z
  .strictObject({
    check: CheckId,
    /** Tokens of the text that the provider gave a probability for. */
    n: MaxOutputTokens,
    /** Those that are as likely as the likeliest token. */
    agree: z.int().min(0).max(8_192),
    /** How much less likely all of them are than the likeliest ones, each by 2,000 at most. */
    gap: z
      .int()
      .min(0)
      .max(mostGap * 8_192),
    /** Those that are less likely than the likeliest one by more than 4 nats. */
    far: z.int().min(0).max(8_192),
    /** The gap of each quarter of the text. */
    quarters: z.array(quarterGap).length(4),
    /** HMAC-SHA256, under the job's evidence key, of what was told of every token. */
    transcript: Hash32,
    /** At the places that are drawn, in order. */
    top: z.array(TopTokens).min(1).max(8),
  })
  .meta({ id: 'TeacherScore' })
export type TeacherScore = z.output<typeof TeacherScore>

/** What a node's numbers come to. */
export const AttestedNumbers = TeacherScore.pick({ n: true, agree: true, gap: true, far: true })
  .extend({
    /** The greatest mean gap of a quarter, in thousandths of a nat a token. */
    worst: z.int().min(0).max(mostGap),
    /** The least distance of its likeliest tokens from another node's: the odd one's is the greatest. Absent where no other can be compared. */
    apart: z.int().min(0).max(mostGap).optional(),
  })
  .meta({ id: 'AttestedNumbers' })
export type AttestedNumbers = z.output<typeof AttestedNumbers>

/** A node's numbers, with the salt of the commitment in its verdict. */
export const AttestedScore = z
  .object({ address: Address, salt: Base64Url32, score: TeacherScore })
  .meta({ id: 'AttestedScore' })
