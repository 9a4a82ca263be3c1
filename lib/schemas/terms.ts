import { z } from 'zod'
import { Base64Url32, Cid, ComparatorId, IclOrigin, ModelId, ModelTier } from '../codecs.ts'
import { Amount, ModelPrice } from './prices.ts'
import { PromptNeeds } from './prompt-needs.ts'

/** The fewest and the most nodes on a list that PromptKeyStore takes. */
export const minListLength = 3
export const maxListLength = 16

/** `three` of up to seven, `any-two` of up to five, or more than half of up to five. */
export const AgreementRule = z.enum(['three', 'any-two', 'majority'])
export type AgreementRule = z.output<typeof AgreementRule>

/** What a client fixes before it stores a prompt key: the transaction has its hash, and the salt hides the list from all who lack the terms. */
export const Terms = z
  .strictObject({
    /** The only ICL that may use the key. */
    icl_origin: IclOrigin,
    /** The published pool that the list is drawn from. */
    pool_cid: Cid,
    model_id: ModelId,
    min_tier: ModelTier,
    comparator: ComparatorId,
    /** What the prompt needs of a model; nothing when left out. */
    needs: PromptNeeds.exactOptional(),
    /** The most that the job pays; only nodes that ask no more are drawn. Left out while there are no payments. */
    offer: z.strictObject({ ...ModelPrice, delivery: Amount }).exactOptional(),
    /** The rule for how many answers have to match one another. */
    rule: AgreementRule,
    /** Nodes of the first batch. */
    quorum: z.int().min(3).max(6),
    /** The most answers. */
    max_answers: z.int().min(3).max(7),
    /** How many others each answer of the agreement has to match, if that is more than the rule requires. */
    min_matches: z.int().min(1).max(6),
    /** The most nodes on the list; fewer when the pool has fewer. */
    list_length: z.int().min(minListLength).max(maxListLength),
    salt: Base64Url32,
  })
  .meta({ id: 'Terms' })
export type Terms = z.output<typeof Terms>
