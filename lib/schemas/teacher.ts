import { z } from 'zod'
import { CheckId, Hash32 } from '../codecs.ts'
import { MaxOutputTokens } from './jobs.ts'

/** The largest gap of a token to the likeliest one, in thousandths of a nat. A larger one counts as this. */
export const mostGap = 2_000

const Millinats = z.int().min(0).max(100_000)

/** The likeliest tokens at a place, likeliest first: a name keyed with the job's evidence key, and minus the log of the probability. */
const TopTokens = z
  .array(z.tuple([z.int().min(0).max(0xffffffff), Millinats]))
  .min(1)
  .max(5)
export type TopTokens = z.output<typeof TopTokens>

const Gap = z
  .int()
  .min(0)
  .max(mostGap * 8_192)

/** How likely the tokens of a delivered text are under a node's model, by its word (`teacher/1`). Only the provider could compute it again. */
export const TeacherScore = z
  .strictObject({
    check: CheckId,
    /** Tokens of the text that the provider gave a probability for. */
    n: MaxOutputTokens,
    /** Tokens that are as likely as the likeliest one. */
    agree: z.int().min(0).max(8_192),
    /** The sum of all tokens' gaps to the likeliest one, each at most 2,000. */
    gap: Gap,
    /** `gap` without the greatest gaps, one for each 32 tokens begun: a provider can read single tokens otherwise than they were generated. */
    trimmed: Gap,
    /** Tokens that are less likely than the likeliest one by more than 4 nats. */
    far: z.int().min(0).max(8_192),
    /** The gap of each quarter of the text. */
    quarters: z.array(Gap).length(4),
    /** HMAC-SHA256, under the job's evidence key, of the model's view of each token. */
    transcript: Hash32,
    /** The likeliest tokens at the drawn places, in order. */
    top: z.array(TopTokens).min(1).max(8),
  })
  .meta({ id: 'TeacherScore' })
export type TeacherScore = z.output<typeof TeacherScore>

/** A summary of a node's numbers. */
export const AttestedNumbers = TeacherScore.pick({ n: true, agree: true, gap: true, far: true })
  .extend({
    /** The greatest mean gap of a quarter, in thousandths of a nat a token. */
    worst: z.int().min(0).max(mostGap),
    /** The least distance of its likeliest tokens from another node's: greatest for the odd one, absent when no other can be compared. */
    apart: z.int().min(0).max(mostGap).optional(),
  })
  .meta({ id: 'AttestedNumbers' })
export type AttestedNumbers = z.output<typeof AttestedNumbers>
