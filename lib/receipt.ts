/*
 * Problem: a client must be able to prove later, without the ICL and to a reader who trusts nobody, that so many nodes gave one answer.
 *
 * Idea: a receipt holds everything that the decision rests on: the terms and the list, each revealed answer, the deliveries and the
 * verdicts on them. The rules are deterministic, so any holder of the receipt decides again and must get the same result.
 *
 * Invariants: a valid receipt names every node up to the last that had a seat. No node knew another answer of its batch when it committed
 * to its own. The deliverer follows from batches and list. The ICL adds only its signature. No node's statement can be changed without
 * breaking the node's signature.
 *
 * Failure cases: that a node was late is only the ICL's word, against which the node has its acknowledgements (lib/ack.ts). That a node
 * gave no verdict is also only its word. The ICL can leave verdicts out, as long as the others give the same outcome. The list, the stakes
 * and the readers of the keys are on chain, and lib/client/check-receipt.ts checks them there.
 */

import { canonicalJson } from './canonical-json.ts'
import type { Address, Hash32 } from './codecs.ts'
import { sha256Hex } from './digest.ts'
import { encode } from './encode.ts'
import { jobIdOf } from './job-id.ts'
import { receiptQuota, replayBatches, verifyAnswers } from './receipt/answers.ts'
import { verifyAttested } from './receipt/attested.ts'
import { verifyDeliveries } from './receipt/deliveries.ts'
import { check } from './receipt/refuse.ts'
import { verifySeen } from './receipt/seen.ts'
import { signedChecker } from './receipt/signed.ts'
import { Receipt, ReceiptRecord } from './schemas/receipt.ts'
import { verifySignature } from './session-key.ts'
import { statementBytes } from './statements.ts'

/** The hash of a receipt, as on chain: SHA-256 of its canonical JSON. */
export const receiptHash = (receipt: Receipt): Promise<Hash32> => hashOf(encode(Receipt, receipt))

/** The hash of a receipt that the tally signs: SHA-256 of the canonical JSON of all but the tally itself. */
export const recordHash = (record: ReceiptRecord): Promise<Hash32> =>
  hashOf(encode(ReceiptRecord, record))

const hashOf = (encoded: object): Promise<Hash32> => sha256Hex(canonicalJson(encoded))

/** Makes the tally from a record's hash, and returns it with the receipt's hash. Encodes the record, which is long, only once. */
export async function tallied(
  record: ReceiptRecord,
  tallyOf: (recordHash: Hash32) => Promise<Receipt['tally']>,
): Promise<{ readonly tally: Receipt['tally']; readonly receiptHash: Hash32 }> {
  const encoded = encode(ReceiptRecord, record)
  const tally = await tallyOf(await hashOf(encoded))
  const whole = { ...encoded, tally: encode(Receipt.shape.tally, tally) }
  return { tally, receiptHash: await hashOf(whole) }
}

/** A part of a receipt that passed its checks, with the node that it is about. */
export type ReceiptPart =
  | { readonly part: 'job' | 'list' | 'agreement' | 'delivery' | 'tally' }
  | { readonly part: 'answer'; readonly node: Address }

/**
 * Checks a receipt without a network and without trusting the ICL: its list fits the terms; a node of the list signed each answer, and none
 * is left out; deciding again gives the same batches, group and deliverer; the verdicts settle the delivery. It does not check that the
 * list is the one on chain. `iclKeys`, if given, are the ICL's published keys (base64url), one of which must have signed the tally.
 * `onHeld` is called for each part that passes. Throws SvcError `receipt-invalid`.
 */
export async function verifyReceipt(
  receipt: Receipt,
  options: {
    readonly iclKeys?: readonly string[]
    readonly onHeld?: (part: ReceiptPart) => void
  } = {},
): Promise<void> {
  const { onHeld = () => {} } = options
  check(jobIdOf(identityOf(receipt)) === receipt.jobId, 'the jobId is not that of its parts')
  onHeld({ part: 'job' })
  verifyList(receipt)
  const quota = receiptQuota(receipt)
  onHeld({ part: 'list' })
  const checkSigned = signedChecker(receipt)
  const answers = await verifyAnswers(receipt, checkSigned, (node) =>
    onHeld({ part: 'answer', node }),
  )
  await verifySeen(receipt, answers)
  const group = replayBatches(receipt, answers, quota)
  onHeld({ part: 'agreement' })
  await verifyDeliveries(receipt, { answers, group, checkSigned })
  await verifyAttested(receipt, answers, checkSigned)
  onHeld({ part: 'delivery' })
  await verifyTally(receipt, options.iclKeys)
  onHeld({ part: 'tally' })
}

const identityOf = (receipt: Receipt) => ({
  chainId: receipt.chain_id,
  client: receipt.client,
  promptCid: receipt.prompt_cid,
  kpHighHandle: receipt.kpHighHandle,
  kpLowHandle: receipt.kpLowHandle,
  clientNonce: receipt.client_nonce,
})

/** Checks the list by itself, without the chain. */
function verifyList({ list, client, icl_origin }: Receipt): void {
  const { terms, members, passed } = list
  check(terms.icl_origin === icl_origin, 'its list is for another ICL')
  check(new Set(members).size === members.length, 'a node is on its list twice')
  check(!members.includes(client), 'the client is on its own list')
  check(members.length <= terms.list_length, 'its list is longer than the terms allow')
  check(
    passed.every(({ position }) => position < members.length),
    'it passes over a node that is not on its list',
  )
}

async function verifyTally(receipt: Receipt, iclKeys?: readonly string[]): Promise<void> {
  const { body, key, signature } = receipt.tally
  check(iclKeys === undefined || iclKeys.includes(key), 'the tally key is not one of the ICL')
  check(
    await verifySignature(key, signature, statementBytes(body)),
    'the ICL did not sign the tally',
  )
  check(body.jobId === receipt.jobId, 'the tally is of another job')
  check(body.record === (await recordHash(receipt)), 'the tally is of another record')
}
