import { bytesToBigInt } from 'viem'
import type { JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import type { ClientContext } from './context.ts'

/** Makes the identity of a new job from its prompt and the handles of the prompt's key. Each call makes another job. */
export function nameJob(
  { address, network, random }: Pick<ClientContext, 'address' | 'network' | 'random'>,
  parts: {
    readonly promptCid: string
    readonly highHandle: bigint
    readonly lowHandle: bigint
  },
): { readonly jobId: JobId; readonly identity: JobIdentity } {
  const identity: JobIdentity = {
    chainId: network.chain_id,
    client: address,
    promptCid: parts.promptCid,
    kpHighHandle: parts.highHandle,
    kpLowHandle: parts.lowHandle,
    clientNonce: bytesToBigInt(random.bytes(32)),
  }
  return { jobId: jobIdOf(identity), identity }
}
