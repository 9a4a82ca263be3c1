import { z } from 'zod'
import {
  Address,
  BlockNumber,
  Cid,
  ComparatorId,
  Hash32,
  ModelId,
  QueryInt,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { named, signedByIcl } from './named.ts'
import { IneligibleReason } from './nodes.ts'
import { ReadingGrant } from './reading.ts'
import { maxListLength, minListLength, Terms } from './terms.ts'

/** Query of the quorum preview. */
export const QuorumPreviewQuery = z
  .object({
    /** The model that most nodes serve when left out. */
    model_id: ModelId.optional(),
    comparator: ComparatorId.optional(),
    min_tier: QueryInt(0, 255).default(0),
    verifier_count: QueryInt(2, 5).default(2),
  })
  .meta({ example: { model_id: 'openai:gpt-4o' } })

/** The pool that a list would be drawn from now. It does not show who will be on the list. */
export const QuorumPreview = named('QuorumPreview', {
  model_id: ModelId,
  comparator: ComparatorId,
  pool_cid: Cid,
  /** Active nodes of the pool that meet the demand, and how many of them have a free slot. */
  nodes: z.int(),
  free_nodes: z.int(),
  /** Draws that wait for their turn. */
  draws_waiting: z.int(),
  /** The room for the encrypted prompts of all clients. A longer one cannot be uploaded now. */
  prompt_room_bytes: z.int().nonnegative(),
})

/** A pool that the ICL published, and the time for which it was current. */
const PublishedPool = named('PublishedPool', {
  pool_cid: Cid,
  from: UnixSeconds,
  until: UnixSeconds,
})

/** The pools of the last hour, newest first. */
export const PublishedPools = named('PublishedPools', { pools: z.array(PublishedPool).max(10_000) })

/** Why a node on a list is not seated in turn. */
export const PassReason = z.enum([...IneligibleReason.options, 'busy'])
export type PassReason = z.output<typeof PassReason>

export const ListPosition = z
  .int()
  .min(0)
  .max(maxListLength - 1)

/** A node that was passed over, by its position on the list. */
const PassedNode = named('PassedNode', {
  position: ListPosition,
  reason: PassReason,
  at: UnixSeconds,
})

/** A block of the chain. */
export const BlockId = named('BlockId', { number: Uint256, hash: Hash32 })
export type BlockId = z.output<typeof BlockId>

export const ListMembers = z.array(Address).min(minListLength).max(maxListLength)

/** Asks for the list of a stored key: its handles, the block of its KeyStored event, and the opened terms. */
export const ListRequest = named('ListRequest', {
  kpHighHandle: Uint256,
  kpLowHandle: Uint256,
  block_number: BlockNumber,
  terms: Terms,
  /** Seconds to hold the request until the draw has its turn. */
  wait: z.int().min(0).max(30).optional(),
})
export type ListRequest = z.output<typeof ListRequest>

/** The list of a stored key, and the nodes that are passed over now. */
export const ListStatement = named('ListStatement', {
  statement: z.literal('svc-list-v2'),
  client: Address,
  kpHighHandle: Uint256,
  kpLowHandle: Uint256,
  terms: Terms,
  block: BlockId,
  list: ListMembers,
  passed: z.array(PassedNode).max(maxListLength),
  /** The account that may activate more nodes of the list, to which the client commits. */
  coordinator: Address,
  at: UnixSeconds,
})
export type ListStatement = z.output<typeof ListStatement>

/** A list, signed by one of the ICL's published keys. */
export const SignedList = named('SignedList', signedByIcl(ListStatement))
export type SignedList = z.output<typeof SignedList>

/** A list, and each member's reading key in the list's order. Not signed by the ICL: the members' wallets sign them. */
export const DrawnList = named('DrawnList', {
  ...signedByIcl(ListStatement),
  reading: z.array(ReadingGrant).max(maxListLength),
})
export type DrawnList = z.output<typeof DrawnList>

/** A job's list, as in its view and its receipt. */
export const JobListView = named('JobListView', {
  terms: Terms,
  block: BlockId,
  members: ListMembers,
  passed: z.array(PassedNode).max(64),
  /** The account that may activate members until `until`, in Unix seconds by the chain's clock. */
  activator: Address,
  until: UnixSeconds,
})
export type JobListView = z.output<typeof JobListView>
