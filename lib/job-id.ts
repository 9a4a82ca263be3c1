import { encodeAbiParameters, keccak256 } from 'viem'
import type { Address, JobId } from './codecs.ts'

const parameters = [
  { type: 'uint256' },
  { type: 'address' },
  { type: 'string' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
] as const

/** The values that identify a job. */
export type JobIdentity = {
  readonly chainId: number
  readonly client: Address
  readonly promptCid: string
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly clientNonce: bigint
}

/** keccak256(abi.encode(chainId, client, prompt_cid, high, low, client_nonce)). The same submission gives the same id. */
export const jobIdOf = (identity: JobIdentity): JobId =>
  keccak256(
    encodeAbiParameters(parameters, [
      BigInt(identity.chainId),
      identity.client,
      identity.promptCid,
      identity.kpHighHandle,
      identity.kpLowHandle,
      identity.clientNonce,
    ]),
  ) as JobId
