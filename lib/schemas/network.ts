import { z } from 'zod'
import { Address, ComparatorId } from '../codecs.ts'

/** How the ICL is (spec 2.1). */
export const Health = z
  .object({ status: z.literal('ok'), chain_connected: z.boolean(), mongo_connected: z.boolean() })
  .meta({ id: 'Health' })

/** Whether the ICL should get traffic, and if not wholly well, why. */
export const Readiness = z
  .object({ ready: z.boolean(), reasons: z.array(z.string()) })
  .meta({ id: 'Readiness' })

/** Where everything is and what the limits are: all that a node or a client must know of a deployment. */
export const Network = z
  .object({
    version: z.string(),
    public_url: z.url(),
    chain_id: z.int().positive(),
    contracts: z.object({
      node_registry: Address,
      prompt_key_store: Address,
      result_registry: Address,
    }),
    coordinator: Address,
    attestation_backends: z.array(z.enum(['mock', 'tpm'])),
    comparators: z.array(ComparatorId),
    default_comparator: ComparatorId,
    limits: z.object({
      body_bytes: z.int(),
      blob_bytes: z.int(),
      prompt_bytes: z.int(),
      wait_seconds: z.int(),
      offer_seconds: z.int(),
      lease_seconds: z.int(),
      reveal_seconds: z.int(),
      job_seconds: z.int(),
      max_verifiers: z.int(),
    }),
    blob_retention_days: z.int(),
  })
  .meta({ id: 'Network' })
export type Network = z.output<typeof Network>

/** The ICL's public signing keys as a JSON Web Key Set (RFC 7517). */
export const JsonWebKeySet = z
  .object({
    keys: z.array(
      z.object({
        kty: z.string(),
        crv: z.string(),
        x: z.string(),
        y: z.string().optional(),
        kid: z.string(),
        alg: z.string(),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'JsonWebKeySet' })
export type JsonWebKeySet = z.output<typeof JsonWebKeySet>
