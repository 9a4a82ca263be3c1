import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import type { ChainSlash, Slash } from './fault.ts'
import type { MemberState } from './job.ts'
import type { Outage } from './outages.ts'
import type {
  PostedAnswer,
  PostedDelivery,
  PostedNumbers,
  PostedTurnAbort,
  PostedVerdict,
} from './posted.ts'
import type { WebhookAnswer } from './webhook.ts'

type Seat = { readonly node: Address; readonly fence: number }

/** What a node says about its own assignment. The commitment of `reveal` is computed from what the node reveals. */
export type NodeCommand = Seat &
  /** `msPerToken`: the speed of the node for the job's model, if it has measured it. */
  (
    | { readonly type: 'claim'; readonly msPerToken?: number | undefined }
    | { readonly type: 'commit'; readonly commitment: Hash32 }
    | { readonly type: 'reveal'; readonly answer: PostedAnswer; readonly commitment: Hash32 }
    | { readonly type: 'deliver'; readonly delivery: PostedDelivery }
    | { readonly type: 'post-verdict'; readonly verdict: PostedVerdict }
    | { readonly type: 'show'; readonly cid: string | undefined }
    | { readonly type: 'weigh'; readonly commitment: Hash32 | undefined }
    | { readonly type: 'open-numbers'; readonly numbers: PostedNumbers }
    | {
        readonly type: 'abort'
        readonly reason: AbortReason
        /** The seconds that its provider asks it to wait. */
        readonly retryAfter?: number | undefined
      }
    | { readonly type: 'abort-turn'; readonly abort: PostedTurnAbort }
  )

/** What the ICL finds out about a node whose assignment is not offered yet. */
export type Finding = Seat &
  /** The chain shows that the node may read the keys. */
  (
    | { readonly type: 'see-access' }
    /** The chain shows that the node may not read them, and only the client can grant it. */
    | { readonly type: 'miss-access' }
    /** The chain refuses the node access to the keys, whichever account asks. */
    | { readonly type: 'refuse-access' }
    /** The node can read the keys, but has no free slot. */
    | { readonly type: 'find-busy' }
    /** The node left the pool before it had an offer. */
    | { readonly type: 'find-gone' }
    /** The chain gives no other node access: the client ended this list. */
    | { readonly type: 'find-ended' }
    /** The client committed on chain to another list, or to this one for another job. */
    | { readonly type: 'find-other-list' }
  )

/** The result of trying an effect: it is done, or has to be tried again. */
export type Tried =
  /** With an error it is given up: no other try could succeed. */
  | { readonly done: true; readonly error?: string }
  | {
      readonly done: false
      /** In milliseconds. When left out, the wait grows from one try to the next. */
      readonly retryMs?: number
      /** Why the try failed. Absent when the effect only has to wait. */
      readonly error?: string
    }

/** The result of trying an effect, by kind of effect. */
export type EffectNews =
  | { readonly type: 'effect-tried'; readonly tried: Tried }
  /** The transaction with the job's result, once one is sent. `isDeep`: it is final on chain. */
  | { readonly type: 'commit-seen'; readonly tx: Hash32 | undefined; readonly isDeep: false }
  | { readonly type: 'commit-seen'; readonly tx: Hash32; readonly isDeep: true }
  /** The state of a fault's slash; `off` when the operator of the ICL slashes nobody. */
  | {
      readonly type: 'slash-seen'
      readonly slash: Slash
      readonly found: ChainSlash | { readonly state: 'off' }
    }
  /** The answer of the client's server. `jitter`, from 0 to 1, adds up to a tenth to the wait for the next try. */
  | { readonly type: 'webhook-tried'; readonly answer: WebhookAnswer; readonly jitter: number }

/** News of the effect with this number in the job's outbox. Changes nothing once the effect has left the outbox. */
export type EffectCommand = EffectNews & { readonly effectId: number }

/** The news of effects that were tried together. Each finding comes before the news of its effect. */
export type NewsOfEffects = readonly (Finding | EffectCommand)[]

/** What a node, the client, the chain or a timer tells a job. */
export type Command =
  | NodeCommand
  | Finding
  | EffectCommand
  /** Has the effect of these commands, applied one after the other. */
  | { readonly type: 'effects-seen'; readonly news: NewsOfEffects }
  | { readonly type: 'cancel' }
  /** The ICL may have been away in these times. Outages that the job has already taken into account change nothing. */
  | { readonly type: 'miss-time'; readonly outages: readonly Outage[] }
  /** Time has passed. `members` has the states in the list's order, and is absent when no seat has to be filled. */
  | { readonly type: 'tick'; readonly members?: readonly MemberState[] | undefined }
