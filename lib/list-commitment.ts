import { encodeAbiParameters, keccak256 } from 'viem'
import type { Address, Hash32, JobId } from './codecs.ts'

/** What a prompt key is bound to on chain: one job, who may activate nodes until when, and the ordered list of nodes. */
export type ListTerms = {
  readonly jobId: JobId
  readonly activator: Address
  /** Unix seconds. */
  readonly until: number
  readonly list: readonly Address[]
}

const types = [
  { type: 'bytes32' },
  { type: 'address' },
  { type: 'uint64' },
  { type: 'address[]' },
] as const

/** The commitment that PromptKeyStore keeps for a list: keccak256(abi.encode(jobId, activator, until, list)). */
export const listCommitment = ({ jobId, activator, until, list }: ListTerms): Hash32 =>
  keccak256(encodeAbiParameters(types, [jobId, activator, BigInt(until), list])) as Hash32
