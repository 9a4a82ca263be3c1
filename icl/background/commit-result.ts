import { keccak256, stringToHex } from 'viem'
import type { Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ChainResult } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

/** Puts an accepted result on chain unless it is there already; answers the transaction that did. */
export async function commitResult({ chain, log }: Dependencies, job: Job): Promise<Hash32> {
  const result = chainResultOf(job)
  const known = await chain.findCommitment(result)
  if (known) return known
  await chain.commitResults([result])
  const tx = await chain.findCommitment(result)
  if (!tx) {
    throw new SvcError('chain-not-confirmed', 'The commitment is not confirmed yet', {
      hint: 'Nothing to do: it is looked for again.',
      retryable: true,
    })
  }
  log.info('result committed', { jobId: job.id, tx })
  return tx
}

function chainResultOf({ receipt, receiptHash }: Job): ChainResult {
  if (!receipt || !receiptHash) throw new TypeError('An accepted job has a receipt')
  const { matches, no_matches: noMatches } = receipt.tally.body
  return {
    jobId: receipt.jobId,
    outputCidHash: keccak256(stringToHex(receipt.output_cid)),
    receiptHash,
    leader: receipt.leader.body.address,
    verifiers: receipt.verifiers.map(({ body }) => body.address),
    matches,
    noMatches,
  }
}
