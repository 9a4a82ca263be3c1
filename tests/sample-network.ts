import type { Network } from '../lib/schemas/network.ts'
import { anAddress } from './branded.ts'

const address = `0x${'0c'.repeat(20)}` as const

/** A deployment as an ICL describes it; tests change what they are about. */
export const sampleNetwork = (changes: Partial<Network> = {}): Network => ({
  version: '0.0.0',
  public_url: 'http://icl.test',
  chain_id: 31_337,
  contracts: {
    node_registry: anAddress(address),
    prompt_key_store: anAddress(address),
    result_registry: anAddress(address),
  },
  coordinator: anAddress(address),
  attestation_backends: ['mock'],
  comparators: ['exact'],
  default_comparator: 'exact',
  limits: {
    body_bytes: 262_144,
    blob_bytes: 1_048_576,
    prompt_bytes: 1_046_132,
    wait_seconds: 30,
    poll_seconds: 5,
    offer_seconds: 20,
    lease_seconds: 120,
    reveal_seconds: 30,
    job_seconds: 600,
    deliver_seconds: 45,
    check_seconds: 45,
    jobs_at_once: 8,
    draws_waiting: 1_000,
    jobs_per_day: null,
    rates: {},
  },
  client_allow_list: false,
  blob_retention_days: 30,
  blobs: 'store',
  webhooks: 'https',
  ...changes,
})
