import { keccak256, stringToHex } from 'viem'
import type { Hash32 } from '../../lib/codecs.ts'
import type { ChainResult } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

/** Puts an accepted result on chain unless it is there already; answers the transaction once it is deep enough to stay. */
export async function commitResult(
  { chain, log }: Dependencies,
  job: Job,
): Promise<{ readonly sentTx?: Hash32 | undefined; readonly tx?: Hash32 }> {
  const result = chainResultOf(job)
  let sentTx = job.commitSentTx
  let commitment = await chain.findCommitment(result, sentTx)
  // Sent only when it is absent: one that is not deep yet is already paid for.
  if (commitment.state === 'absent') {
    sentTx = await chain.commitResults([result])
    commitment = await chain.findCommitment(result, sentTx)
  }
  if (commitment.state !== 'deep') return { sentTx }
  log.info('result committed', { jobId: job.id, tx: commitment.tx })
  return { sentTx, tx: commitment.tx }
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
