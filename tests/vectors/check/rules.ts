import { decide, type QuotaRequest, quotaOf } from '../../../lib/agreement-rule.ts'
import { Address, Hash32, JobId } from '../../../lib/codecs.ts'
import { deliverers, settled } from '../../../lib/delivery-rule.ts'
import { utf8 } from '../../../lib/digest.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { candidatesOf, drawList, firstPositions, listSeedOf } from '../../../lib/list.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import { readPool, snapshotPool } from '../../../lib/pool-snapshot.ts'
import { Terms } from '../../../lib/schemas/terms.ts'
import { termsHash } from '../../../lib/terms.ts'
import { type Case, same } from '../../runtimes/inside/case.ts'
import agreements from '../agreements.json' with { type: 'json' }
import lists from '../lists.json' with { type: 'json' }
import { caseOf, codeOf } from './case-of.ts'

const handles = (of: { readonly kpHighHandle: string; readonly kpLowHandle: string }) => ({
  kpHighHandle: BigInt(of.kpHighHandle),
  kpLowHandle: BigInt(of.kpLowHandle),
})

/** Jobs, lists, quotas, decisions and deliveries. */
export const ruleCases: readonly Case[] = [
  caseOf('jobs', lists.jobs, ({ jobId, client, clientNonce, ...job }) => {
    const parts = { clientNonce: BigInt(clientNonce), client: Address.parse(client) }
    same('the id', jobIdOf({ ...job, ...handles(job), ...parts }), jobId)
  }),
  caseOf('draws', lists.draws, async ({ pool, ...draw }) => {
    const terms = Terms.parse(draw.terms)
    same('the hash of the terms', await termsHash(terms), draw.termsHash)
    const blobs = new Map(Object.entries(pool))
    const { nodes } = await readPool(terms.pool_cid, async (cid) => utf8(blobs.get(cid) ?? ''))
    same('the name of the pool', (await snapshotPool(nodes)).root, terms.pool_cid)
    const client = Address.parse(draw.client)
    const key = {
      ...{ chainId: draw.chainId, store: Address.parse(draw.store), client, ...handles(draw) },
      termsHash: Hash32.parse(draw.termsHash),
      blockHash: Hash32.parse(draw.blockHash),
    }
    same(
      'the number of candidates',
      `${candidatesOf(nodes, terms, client).length}`,
      `${draw.candidates}`,
    )
    same('the seed', listSeedOf(key), draw.seed)
    same('the list', drawList(key, terms, nodes).join(), draw.list.join())
  }),
  caseOf('invalid pools', lists.invalidPools, async ({ root, pool }) => {
    const blobs = new Map(Object.entries(pool))
    const read = readPool(root, async (cid) => utf8(blobs.get(cid) ?? ''))
    same('the refusal', await codeOf(read), 'pool-snapshot-invalid')
  }),
  caseOf('first seats', lists.firstSeats, ({ length, passed, quorum, positions }) =>
    same('who is seated', firstPositions(length, passed, quorum).join(), positions.join()),
  ),
  caseOf('commitments to lists', lists.commitments, ({ commitment, ...of }) => {
    const list = of.list.map((address) => Address.parse(address))
    const parts = { list, jobId: JobId.parse(of.jobId), activator: Address.parse(of.activator) }
    same('the commitment', listCommitment({ ...of, ...parts }), commitment)
  }),
  caseOf('orders of delivery', lists.deliverers, ({ group, order }) => {
    const made = deliverers(group).map(({ position }) => position)
    same('the order', made.join(), order.join())
  }),
  caseOf('quotas', agreements.quotas, (vector) => {
    const result = quotaOf(vector as QuotaRequest)
    const { refused, maxAnswers, needed } = vector
    if (result.outcome === 'refused') return same('it', 'refused', refused ? 'refused' : 'a quota')
    same(
      'the quota',
      JSON.stringify(result.quota),
      JSON.stringify({ quorum: vector.quorum, maxAnswers, needed }),
    )
  }),
  caseOf('decisions', agreements.decisions, ({ matches, left, ...vector }) => {
    const { quorum, maxAnswers, needed } = vector
    const answers = Array.from({ length: vector.answers }, (_, position) => ({
      batch: 0,
      position,
    }))
    const decision = decide(
      answers,
      (one, other) =>
        matches.some((pair) => pair.includes(one.position) && pair.includes(other.position)),
      { quorum, maxAnswers, needed },
      left,
    )
    const { outcome } = decision
    const detail = outcome === 'accepted' ? decision.mask : outcome === 'more' ? decision.count : ''
    same(
      'the decision',
      `${outcome} ${detail}`,
      `${vector.outcome} ${vector.mask ?? vector.count ?? ''}`,
    )
  }),
  caseOf('deliveries', agreements.deliveries, ({ checks, isTimeUp, outcome }) => {
    const said = checks.map((check) => (check ?? undefined) as 'match' | 'no-match' | undefined)
    same('what becomes of it', settled(said, isTimeUp), outcome)
  }),
]
