import { keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { jobListHash } from '../../lib/receipt.ts'
import type { VerdictReason } from '../../lib/schemas/jobs.ts'
import type { JobListView } from '../../lib/schemas/list.ts'
import type { Receipt, Tally } from '../../lib/schemas/receipt.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { countVotes } from '../../lib/tally.ts'
import { aHash } from '../branded.ts'

const iclOrigin = 'https://icl.test'
const chainId = 31_337
const settledAt = 1_800_000_100

const seedOf = (byte: number) => new Uint8Array(32).fill(byte)

/** A wallet made from a name. */
function walletOf(name: string) {
  const account = privateKeyToAccount(keccak256(stringToHex(name)))
  return { account, address: account.address.toLowerCase() as Address }
}

/** A wallet with a session key that it has granted. */
export async function signerOf(name: string, byte: number) {
  const { account, address } = walletOf(name)
  const key = await signingKeyFromSeed(seedOf(byte))
  const notAfter = settledAt + 86_400
  const grant = sessionTypedData({ address, key: key.publicKey, iclOrigin, chainId, notAfter })
  const signature = await account.signTypedData(grant)
  return { address, key, session: { key: key.publicKey, not_after: notAfter, signature } }
}

/** The list of a job that n1 leads: its verifiers, and one node that was not needed. */
export const sampleList = (comparator: ComparatorId, verifiers: number): JobListView => ({
  terms: {
    icl_origin: iclOrigin,
    pool_cid: `bafkrei${'d'.repeat(52)}`,
    model_id: 'openai:test',
    min_tier: 0,
    comparator,
    quorum: 3,
    min_matches: 1,
    list_length: 9,
    salt: toBase64Url(seedOf(8)),
  },
  block: { number: 7n, hash: aHash(`0x${'e'.repeat(64)}`) },
  members: Array.from(
    { length: Math.max(verifiers, 2) + 2 },
    (_, index) => walletOf(`n${index + 1}`).address,
  ),
  passed: [],
  activator: walletOf('coordinator').address,
  until: settledAt + 1_000,
})

type ReceiptChanges = {
  readonly client?: Address
  readonly kpHighHandle?: bigint
  readonly kpLowHandle?: bigint
  readonly list?: Partial<JobListView>
}

/** A receipt of a job with a comparator, from a leader's answer and one of each verifier, which says that it matches unless there is a reason why not. */
export async function makeReceipt(
  comparator: ComparatorId,
  [led, ...verified]: readonly [string, ...string[]],
  reasons: readonly (VerdictReason | undefined)[] = [],
  { list: changes, ...ofIdentity }: ReceiptChanges = {},
): Promise<{ readonly receipt: Receipt; readonly iclKey: string }> {
  const identity = {
    chainId,
    client: walletOf('client').address,
    promptCid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: 11n,
    kpLowHandle: 12n,
    clientNonce: 13n,
    ...ofIdentity,
  }
  const jobId = jobIdOf(identity)
  const terms = { jobId, model_id: 'openai:test', max_output_tokens: 1_024 }
  const evidenceOf = (text: string) =>
    comparators[comparator].evidenceOf({ text, prompt: 'Why is the sky blue?', key: seedOf(3) })
  const leader = await signerOf('n1', 21)
  const body = {
    statement: 'svc-leader-v1' as const,
    address: leader.address,
    ...terms,
    fence: 1,
    output_cid: `bafkrei${'b'.repeat(52)}`,
    outHighHandle: 14n,
    outLowHandle: 15n,
    evidence: await evidenceOf(led),
  }
  const leaderStatement = await statementHash(body)
  const verifiers: Receipt['verifiers'] = []
  for (const [index, text] of verified.entries()) {
    const { address, key, session } = await signerOf(`n${index + 2}`, 22 + index)
    const reason = reasons[index]
    const verdict = {
      statement: 'svc-verifier-v1' as const,
      address,
      ...terms,
      fence: 2 + index,
      verdict: reason === undefined ? ('match' as const) : ('no-match' as const),
      ...(reason !== undefined && { reason }),
      evidence: await evidenceOf(text),
      salt: toBase64Url(seedOf(9)),
      leader_statement: leaderStatement,
    }
    verifiers.push({ body: verdict, signature: await key.sign(statementBytes(verdict)), session })
  }
  const list = { ...sampleList(comparator, verified.length), ...changes }
  const iclKey = await signingKeyFromSeed(seedOf(30))
  const { matches, noMatches, inconclusive } = countVotes(verifiers.map(({ body }) => body))
  const tally: Tally = {
    statement: 'svc-tally-v2',
    jobId,
    list: await jobListHash(list),
    leader_statement: leaderStatement,
    verifier_statements: await Promise.all(verifiers.map((one) => statementHash(one.body))),
    matches,
    no_matches: noMatches,
    inconclusive,
    settled_at: settledAt,
  }
  const receipt: Receipt = {
    version: 2,
    icl_origin: iclOrigin,
    chain_id: chainId,
    jobId,
    client: identity.client,
    client_nonce: identity.clientNonce,
    kpHighHandle: identity.kpHighHandle,
    kpLowHandle: identity.kpLowHandle,
    model_id: terms.model_id,
    max_output_tokens: terms.max_output_tokens,
    prompt_cid: identity.promptCid,
    output_cid: body.output_cid,
    comparator,
    list,
    leader: {
      body,
      signature: await leader.key.sign(statementBytes(body)),
      session: leader.session,
    },
    verifiers,
    tally: {
      body: tally,
      key: iclKey.publicKey,
      signature: await iclKey.sign(statementBytes(tally)),
    },
  }
  return { receipt, iclKey: iclKey.publicKey }
}
