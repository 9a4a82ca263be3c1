import { bytesToBigInt } from 'viem'
import type { JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import type { ClientContext } from './context.ts'

/** Names a new job of this client by its prompt and the handles under which the prompt's key is stored; each call names another one. */
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
