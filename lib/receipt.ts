import { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import type { Address, Hash32 } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import { sha256Hex } from './digest.ts'
import { isRefuted } from './fault.ts'
import { jobIdOf } from './job-id.ts'
import { Receipt, ReceiptRecord } from './schemas/receipt.ts'
import { verifySession } from './session-grant.ts'
import { verifySignature } from './session-key.ts'
import { statementBytes, statementHash } from './statements.ts'
import { SvcError } from './svc-error.ts'
import { accepts, countVotes } from './tally.ts'

/** The hash of a receipt, as it stands on chain: SHA-256 of its canonical JSON. */
export const receiptHash = (receipt: Receipt): Promise<Hash32> =>
  sha256Hex(canonicalJson(z.encode(Receipt, receipt)))

/** What the tally signs of a receipt: SHA-256 of the canonical JSON of all but the tally itself. */
export const recordHash = (record: ReceiptRecord): Promise<Hash32> =>
  sha256Hex(canonicalJson(z.encode(ReceiptRecord, record)))

const invalid = (why: string): SvcError =>
  new SvcError('receipt-invalid', `The receipt does not hold: ${why}`, {
    hint: 'Do not rely on this answer; fetch the receipt again, or run the job again.',
  })

const check = (holds: boolean, why: string): void => {
  if (!holds) throw invalid(why)
}

/** A part of a receipt that holds, with the node that it is about. */
export type ReceiptPart =
  | { readonly part: 'job' | 'list' | 'tally' }
  | { readonly part: 'leader' | 'verifier'; readonly node: Address }

/**
 * Checks a receipt without a network and without trusting the ICL: its list fits the terms, every signer is on it, every
 * node's wallet granted the key that signed its statement, the statements are about this job and one another, their
 * evidence bears the verdicts out, and the votes accept the answer. That the list is the one on chain is not known
 * without it. `iclKeys`, when given, are the ICL's published keys (base64url), one of which must have signed the tally;
 * `onHeld` hears of each part that holds. Throws SvcError `receipt-invalid`.
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
  onHeld({ part: 'list' })
  await verifyStatement(receipt, receipt.leader, 'the leader')
  const { body: leader } = receipt.leader
  check(leader.output_cid === receipt.output_cid, 'the leader stated another output')
  const addresses = new Set([leader.address])
  onHeld({ part: 'leader', node: leader.address })
  const leaderHash = await statementHash(leader)
  for (const verifier of receipt.verifiers) {
    const { body } = verifier
    await verifyStatement(receipt, verifier, `verifier ${body.address}`)
    check(!addresses.has(body.address), `${body.address} took part twice`)
    addresses.add(body.address)
    const needsReason = body.verdict === 'no-match'
    check(
      needsReason === (body.reason !== undefined),
      `${body.address} gave no reason, or one too many`,
    )
    check(body.leader_statement === leaderHash, `${body.address} compared with another statement`)
    check(!isRefuted(leader, body), `the evidence of ${body.address} refutes its verdict`)
    onHeld({ part: 'verifier', node: body.address })
  }
  await verifyTally(receipt, leaderHash, options)
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

/** The list by itself: whether the chain has it is another question. */
function verifyList({ list, client, icl_origin, model_id, comparator }: Receipt): void {
  const { terms, members, passed } = list
  check(terms.icl_origin === icl_origin, 'its list is for another ICL')
  check(terms.model_id === model_id, 'its list is for another model')
  check(terms.comparator === comparator, 'its list is for another comparator')
  check(new Set(members).size === members.length, 'a node is on its list twice')
  check(!members.includes(client), 'the client is on its own list')
  check(members.length >= terms.quorum, 'its list is shorter than the quorum')
  check(members.length <= terms.list_length, 'its list is longer than the terms allow')
  check(
    passed.every(({ position }) => position < members.length),
    'it passes over a node that is not on its list',
  )
}

type Signed = Receipt['leader'] | Receipt['verifiers'][number]

async function verifyStatement(receipt: Receipt, signed: Signed, who: string): Promise<void> {
  const { body, session, signature } = signed
  check(receipt.list.members.includes(body.address), `${who} is not on the list`)
  check(body.jobId === receipt.jobId, `${who} spoke of another job`)
  check(body.model_id === receipt.model_id, `${who} ran another model`)
  check(
    body.max_output_tokens === receipt.max_output_tokens,
    `${who} allowed another length of answer`,
  )
  const granted = await verifySession(
    {
      address: body.address,
      key: session.key,
      iclOrigin: receipt.icl_origin,
      chainId: receipt.chain_id,
      notAfter: session.not_after,
    },
    session.signature,
  )
  check(granted, `the wallet of ${who} did not grant the session key`)
  check(session.not_after >= receipt.tally.body.settled_at, `the session of ${who} had ended`)
  check(
    await verifySignature(session.key, signature, statementBytes(body)),
    `${who} did not sign the statement`,
  )
  const malformation = comparators[receipt.comparator].malformation(body.evidence)
  check(malformation === undefined, `the evidence of ${who} is malformed: ${malformation}`)
}

async function verifyTally(
  receipt: Receipt,
  leaderHash: Hash32,
  { iclKeys }: { readonly iclKeys?: readonly string[] },
): Promise<void> {
  const { body, key, signature } = receipt.tally
  check(iclKeys === undefined || iclKeys.includes(key), 'the tally key is not one of the ICL')
  check(
    await verifySignature(key, signature, statementBytes(body)),
    'the ICL did not sign the tally',
  )
  check(body.jobId === receipt.jobId, 'the tally is of another job')
  check(body.list === (await jobListHash(receipt.list)), 'the tally names another list')
  check(body.leader_statement === leaderHash, 'the tally names another leader statement')
  const hashes = await Promise.all(
    receipt.verifiers.map((verifier) => statementHash(verifier.body)),
  )
  check(
    hashes.length === body.verifier_statements.length &&
      hashes.every((hash, index) => hash === body.verifier_statements[index]),
    'the tally names other verdicts',
  )
  const votes = receipt.verifiers.map(({ body: { verdict, reason } }) => ({ verdict, reason }))
  const count = countVotes(votes)
  check(
    count.matches === body.matches &&
      count.noMatches === body.no_matches &&
      count.inconclusive === body.inconclusive,
    'the tally is miscounted',
  )
  const { quorum, min_matches: minMatches } = receipt.list.terms
  // More are seated when the first do not agree; one left out may be the one that did not.
  check(votes.length >= quorum - 1, `it has fewer than the ${quorum - 1} verifiers of its terms`)
  check(accepts(receipt.comparator, votes, minMatches), 'the votes do not accept the answer')
}
