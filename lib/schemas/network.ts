import { z } from 'zod'
import { Address, BlockNumber, ComparatorId, SessionPublicKey, Uint256 } from '../codecs.ts'
import { CoprocessorUrls } from './coprocessor-urls.ts'
import { named } from './named.ts'

/** The ICL's health (spec 2.1). */
export const Health = named('Health', {
  /** `unavailable` while nothing can be saved. */
  status: z.enum(['ok', 'unavailable']),
  chain_connected: z.boolean(),
  mongo_connected: z.boolean(),
})
export type Health = z.output<typeof Health>

/** Where sealed blobs are: on IPFS, or in the ICL's own store. The ICL's gateway has them either way. */
const BlobPlace = z.enum(['ipfs', 'store'])
export type BlobPlace = z.output<typeof BlobPlace>

/** Whether the ICL should get traffic, what is degraded, and the newest block that its chain RPC knows, while that responds. */
export const Readiness = named('Readiness', {
  ready: z.boolean(),
  reasons: z.array(z.string()),
  blobs: BlobPlace,
  block_number: BlockNumber.optional(),
})

/** A rate limit of one caller: at most `requests` at once, which refill over `seconds`. */
export const Rate = named('Rate', {
  requests: z.int().min(1).max(1_000_000),
  seconds: z.int().min(1).max(86_400),
})
export type Rate = z.output<typeof Rate>

/** What is counted: requests of an address (all, previews, attestations, uploads by wallets, failed signatures), wallet, node or reader. */
export const RateName = z.enum([
  'address',
  'preview',
  'attestation',
  'upload',
  'failure',
  'wallet',
  'node',
  'reader',
])
export type RateName = z.output<typeof RateName>

/** An ICL's time limit that clients and nodes wait for. No step, and no job, may take more than an hour. */
const StepSeconds = z.int().min(0).max(3_600)

const Count = z.int().min(0).max(1_000_000_000)

/** A deployment's addresses and limits: all that a node or a client must know. */
export const Network = named('Network', {
  version: z.string().max(64),
  public_url: z.url().max(2_048),
  chain_id: z.int().positive(),
  contracts: z.object({
    node_registry: Address,
    prompt_key_store: Address,
    result_registry: Address,
  }),
  coordinator: Address,
  /** The coprocessor's URLs by the operator's word, for information. Nodes and clients do not rely on them. */
  coprocessor: CoprocessorUrls.optional(),
  attestation_backends: z.array(z.enum(['mock', 'tpm'])).max(16),
  comparators: z.array(ComparatorId).max(16),
  /** The comparator of a job that names none. */
  default_comparator: ComparatorId,
  limits: z.object({
    body_bytes: Count,
    blob_bytes: Count,
    prompt_bytes: Count,
    wait_seconds: StepSeconds,
    /** How often an idle node polls. The ICL holds each poll for so long. */
    poll_seconds: z.int().min(5).max(25),
    offer_seconds: StepSeconds,
    /** The shortest lease. Long answers and slow nodes have longer ones. */
    lease_seconds: StepSeconds,
    reveal_seconds: StepSeconds,
    job_seconds: StepSeconds,
    deliver_seconds: StepSeconds,
    check_seconds: StepSeconds,
    /** Jobs of one client that may run at the same time. */
    jobs_at_once: Count.min(1),
    /** Draws of one client that may wait for their turn. */
    draws_waiting: Count,
    /** Jobs of one client in one day (UTC); null for no limit. */
    jobs_per_day: Count.nullable(),
    /** A request without an entry is not limited. */
    rates: z.partialRecord(RateName, Rate),
  }),
  /** True when only clients that the operator named may submit. */
  client_allow_list: z.boolean(),
  /** How long a settled job, its evidence and its blobs are kept. */
  blob_retention_days: Count,
  blobs: BlobPlace,
  /** What the ICL proposes to take of a stake for a fault; 0 or absent when it proposes nothing. */
  slash_wei: Uint256.optional(),
  /** Which URLs a webhook may have, by their scheme. */
  webhooks: z.enum(['off', 'https', 'http']),
})
export type Network = z.output<typeof Network>

/** The origin that signatures, certificates and sessions are bound to. */
export const publicOrigin = ({ public_url }: Pick<Network, 'public_url'>): string =>
  new URL(public_url).origin

/** The ICL's public signing keys as a JSON Web Key Set (RFC 7517). */
export const JsonWebKeySet = z
  .object({
    keys: z
      .array(
        z.object({
          kty: z.string().max(16),
          crv: z.string().max(16),
          x: z.string().max(128),
          y: z.string().max(128).optional(),
          kid: z.string().max(128),
          alg: z.string().max(16),
          use: z.literal('sig'),
        }),
      )
      // Every key that was ever used stays.
      .max(10_000),
  })
  .refine(
    ({ keys }) =>
      keys.every(({ crv, x }) => crv !== 'Ed25519' || SessionPublicKey.safeParse(x).success),
    'has an Ed25519 key that is not canonical or of small order',
  )
  .meta({ id: 'JsonWebKeySet' })
export type JsonWebKeySet = z.output<typeof JsonWebKeySet>
