import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { jobListHash, receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import type { JobListView } from '../../lib/schemas/list.ts'
import {
  type LeaderStatement,
  Receipt,
  type Tally,
  type VerifierStatement,
} from '../../lib/schemas/receipt.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'
import { makeReceipt } from './make-receipt.ts'

const keyOf = (byte: number) => signingKeyFromSeed(new Uint8Array(32).fill(byte))

let good: Receipt
let iclKey: string
// As `makeReceipt` has them.
let leaderKey: SigningKey
let verifierKeys: readonly SigningKey[]
let tallyKey: SigningKey

beforeAll(async () => {
  const made = await makeReceipt('exact', ['yes', 'yes', 'yes'])
  good = made.receipt
  iclKey = made.iclKey
  leaderKey = await keyOf(21)
  verifierKeys = [await keyOf(22), await keyOf(23)]
  tallyKey = await keyOf(30)
})

/** The receipt with other statements, all of them signed again by those who made them. */
async function restated({
  leader = {},
  verifiers = [],
  list = {},
  tally = {},
}: {
  readonly leader?: Partial<LeaderStatement>
  readonly verifiers?: readonly Partial<VerifierStatement>[]
  readonly list?: Partial<JobListView>
  readonly tally?: Partial<Tally>
}): Promise<Receipt> {
  const led = { ...good.leader.body, ...leader }
  const leader_statement = await statementHash(led)
  const verdicts = await Promise.all(
    good.verifiers.map(async (verifier, index) => {
      const body = { ...verifier.body, leader_statement, ...verifiers[index] }
      const signature = await verifierKeys[index]!.sign(statementBytes(body))
      return { ...verifier, body, signature }
    }),
  )
  const verifier_statements = await Promise.all(verdicts.map(({ body }) => statementHash(body)))
  const listed = { ...good.list, ...list }
  const hashes = { list: await jobListHash(listed), leader_statement, verifier_statements }
  const counted = { ...good.tally.body, ...hashes, ...tally }
  return {
    ...good,
    list: listed,
    leader: { ...good.leader, body: led, signature: await leaderKey.sign(statementBytes(led)) },
    verifiers: verdicts,
    tally: {
      ...good.tally,
      body: counted,
      signature: await tallyKey.sign(statementBytes(counted)),
    },
  }
}

/** Why the receipt does not hold; undefined when it does. */
const objection = (receipt: Receipt, options?: Parameters<typeof verifyReceipt>[1]) =>
  verifyReceipt(receipt, options).then(
    () => undefined,
    (error: { code?: string; message: string; hint?: string }) => {
      expect(error).toMatchObject({
        ...{ code: 'receipt-invalid', hint: expect.stringContaining('fetch the receipt again') },
      })
      return error.message.replace('The receipt does not hold: ', '')
    },
  )

const otherId = aHash(`0x${'1'.repeat(64)}`)
const otherCid = `bafkrei${'c'.repeat(52)}`

describe('a receipt', () => {
  it('holds when everybody has signed it, with any key or with those of the ICL', async () => {
    expect(await objection(good)).toBeUndefined()
    expect(await objection(good, { iclKeys: ['A'.repeat(43), iclKey] })).toBeUndefined()
    expect(await objection(await restated({}))).toBeUndefined()
  })

  it('is about the job that its parts make', async () => {
    const changes: Partial<Receipt>[] = [
      { jobId: aJobId(otherId) },
      { client: nodeAddress('a') },
      { client_nonce: 99n },
      { kpHighHandle: 99n },
      { kpLowHandle: 99n },
      { prompt_cid: otherCid },
      { chain_id: 1 },
    ]
    for (const change of changes) {
      expect(await objection({ ...good, ...change })).toBe('the jobId is not that of its parts')
    }
  })

  it('has the output that the leader stated', async () => {
    expect(await objection({ ...good, output_cid: otherCid })).toBe(
      'the leader stated another output',
    )
  })

  it('has a list that fits its terms, and the terms of its job', async () => {
    const { terms, members } = good.list
    const [one, two, three] = members
    const wrong: [Partial<JobListView>, string][] = [
      [{ terms: { ...terms, icl_origin: 'https://b.test' } }, 'its list is for another ICL'],
      [{ terms: { ...terms, model_id: 'openai:b' } }, 'its list is for another model'],
      [{ terms: { ...terms, comparator: 'similar/2' } }, 'its list is for another comparator'],
      [{ members: [one!, two!, three!, two!] }, 'a node is on its list twice'],
      [{ members: [...members, good.client] }, 'the client is on its own list'],
      [{ terms: { ...terms, quorum: 5 } }, 'its list is shorter than the quorum'],
      [{ terms: { ...terms, list_length: 3 } }, 'its list is longer than the terms allow'],
      [
        { passed: [{ position: members.length, reason: 'busy', at: 1 }] },
        'it passes over a node that is not on its list',
      ],
      [{ terms: { ...terms, quorum: 4 } }, 'it has fewer than the 3 verifiers of its terms'],
      [{ terms: { ...terms, min_matches: 3 } }, 'the votes do not accept the answer'],
    ]
    for (const [list, why] of wrong) {
      expect([why, await objection(await restated({ list }))]).toEqual([why, why])
    }
    const passed = [{ position: members.length - 1, reason: 'busy' as const, at: 1 }]
    expect(await objection(await restated({ list: { passed } }))).toBeUndefined()
    expect(
      await objection(await restated({ list: { terms: { ...terms, min_matches: 2 } } })),
    ).toBeUndefined()
  })

  it('has signers that are on its list', async () => {
    const { members } = good.list
    for (const [position, who] of [
      [0, 'the leader'],
      [1, `verifier ${members[1]}`],
      [2, `verifier ${members[2]}`],
    ] as const) {
      const list = { members: members.with(position, nodeAddress('7')) }
      expect(await objection(await restated({ list }))).toBe(`${who} is not on the list`)
    }
  })

  it('has the list of its tally, in its order, with its terms, block and passes', async () => {
    const { list } = good
    const [one, two, ...rest] = list.members
    const changes: Partial<JobListView>[] = [
      { members: [two!, one!, ...rest] },
      { members: [...list.members, nodeAddress('7')] },
      { terms: { ...list.terms, salt: 'A'.repeat(43) } },
      { terms: { ...list.terms, pool_cid: otherCid } },
      { block: { ...list.block, number: 8n } },
      { block: { ...list.block, hash: otherId } },
      { passed: [{ position: 3, reason: 'busy', at: 1 }] },
      { activator: nodeAddress('7') },
      { until: list.until + 1 },
    ]
    for (const change of changes) {
      const other = { ...list, ...change }
      expect(await objection({ ...good, list: other })).toBe('the tally names another list')
      expect(await objection(await restated({ list: change }))).toBeUndefined()
    }
    const tally = { list: otherId }
    expect(await objection(await restated({ tally }))).toBe('the tally names another list')
  })

  it.each<[string, Partial<VerifierStatement> & Partial<LeaderStatement>]>([
    ['spoke of another job', { jobId: aJobId(otherId) }],
    ['ran another model', { model_id: 'openai:other' }],
    ['allowed another length of answer', { max_output_tokens: 5 }],
  ])('does not hold when a node %s', async (why, change) => {
    expect(await objection(await restated({ leader: change }))).toBe(`the leader ${why}`)
    const { address } = good.verifiers[1]!.body
    expect(await objection(await restated({ verifiers: [{}, change] }))).toBe(
      `verifier ${address} ${why}`,
    )
  })

  it('has sessions that the wallets granted, for this ICL, this chain, this key and until then', async () => {
    const ungranted = 'the wallet of the leader did not grant the session key'
    const icl_origin = 'https://other.test'
    const list = { ...good.list, terms: { ...good.list.terms, icl_origin } }
    expect(await objection({ ...good, icl_origin, list })).toBe(ungranted)
    const { leader } = good
    for (const change of [
      { key: verifierKeys[0]!.publicKey },
      { not_after: leader.session.not_after + 1 },
      { signature: good.verifiers[0]!.session.signature },
    ]) {
      const session = { ...leader.session, ...change }
      expect(await objection({ ...good, leader: { ...leader, session } })).toBe(ungranted)
    }
  })

  it('has sessions that lasted until it was settled', async () => {
    const { not_after } = good.leader.session
    expect(await objection(await restated({ tally: { settled_at: not_after } }))).toBeUndefined()
    expect(await objection(await restated({ tally: { settled_at: not_after + 1 } }))).toBe(
      'the session of the leader had ended',
    )
  })

  it('has statements that their nodes signed', async () => {
    const [one, two] = good.verifiers
    const { leader } = good
    expect(await objection({ ...good, leader: { ...leader, signature: one!.signature } })).toBe(
      'the leader did not sign the statement',
    )
    const forged = { ...two!, signature: one!.signature }
    expect(await objection({ ...good, verifiers: [one!, forged] })).toBe(
      `verifier ${two!.body.address} did not sign the statement`,
    )
  })

  it('has evidence that its comparator can read', async () => {
    const evidence = { ...good.leader.body.evidence, sketch: 'AAAA' }
    expect(await objection(await restated({ leader: { evidence } }))).toMatch(
      /^the evidence of the leader is malformed: ./,
    )
    const other = { ...good.leader.body.evidence, comparator: 'similar/2' as const }
    expect(await objection(await restated({ verifiers: [{ evidence: other }] }))).toMatch(
      /^the evidence of verifier 0x[0-9a-f]{40} is malformed: ./,
    )
  })

  it('has no node twice', async () => {
    const [one] = good.verifiers
    expect(await objection({ ...good, verifiers: [one!, one!] })).toBe(
      `${one!.body.address} took part twice`,
    )
  })

  it('has verdicts on the statement of its leader that their evidence bears out', async () => {
    const [{ body }] = good.verifiers as [Receipt['verifiers'][number]]
    expect(await objection(await restated({ verifiers: [{ leader_statement: otherId }] }))).toBe(
      `${body.address} compared with another statement`,
    )
    const evidence = { ...body.evidence, digest: 'A'.repeat(43) }
    expect(await objection(await restated({ verifiers: [{ evidence }] }))).toBe(
      `the evidence of ${body.address} refutes its verdict`,
    )
  })

  it('has a tally that the ICL signed, of these very statements, and counted right', async () => {
    expect(await objection(good, { iclKeys: [] })).toBe('the tally key is not one of the ICL')
    expect(await objection(good, { iclKeys: [leaderKey.publicKey] })).toBe(
      'the tally key is not one of the ICL',
    )
    const unsigned = { ...good.tally, signature: good.leader.signature }
    expect(await objection({ ...good, tally: unsigned })).toBe('the ICL did not sign the tally')
    const [one, two] = good.tally.body.verifier_statements
    const wrong: [Partial<Tally>, string][] = [
      [{ jobId: aJobId(otherId) }, 'the tally is of another job'],
      [{ leader_statement: otherId }, 'the tally names another leader statement'],
      [{ verifier_statements: [two!, one!] }, 'the tally names other verdicts'],
      [{ verifier_statements: [one!] }, 'the tally names other verdicts'],
      [{ verifier_statements: [one!, two!, one!] }, 'the tally names other verdicts'],
      [{ verifier_statements: [one!, otherId] }, 'the tally names other verdicts'],
      [{ matches: 1 }, 'the tally is miscounted'],
      [{ no_matches: 1 }, 'the tally is miscounted'],
      [{ inconclusive: 1 }, 'the tally is miscounted'],
    ]
    for (const [tally, why] of wrong) {
      expect([why, await objection(await restated({ tally }))]).toEqual([why, why])
    }
  })

  it('has votes that accept the answer', async () => {
    const { receipt: outvoted } = await makeReceipt(
      'exact',
      ['yes', 'yes', 'no'],
      [undefined, 'different-answer'],
    )
    expect(await objection(outvoted)).toBe('the votes do not accept the answer')
    const { receipt: alone } = await makeReceipt('exact', ['yes'])
    expect(await objection(alone)).toBe('it has fewer than the 2 verifiers of its terms')
  })

  it('tells of each part as soon as it holds', async () => {
    const heldOf = async (receipt: Receipt) => {
      const held: unknown[] = []
      await objection(receipt, { onHeld: (part) => held.push(part) })
      return held
    }
    const [one, two] = good.verifiers.map(({ body }) => ({ part: 'verifier', node: body.address }))
    const leader = { part: 'leader', node: good.leader.body.address }
    const [job, list] = [{ part: 'job' }, { part: 'list' }]
    expect(await heldOf(good)).toEqual([job, list, leader, one, two, { part: 'tally' }])
    expect(await heldOf({ ...good, jobId: aJobId(otherId) })).toEqual([])
    const members = [...good.list.members, good.client]
    expect(await heldOf({ ...good, list: { ...good.list, members } })).toEqual([job])
    expect(await heldOf({ ...good, output_cid: otherCid })).toEqual([job, list])
    expect(await heldOf(await restated({ tally: { matches: 1 } }))).toEqual([
      job,
      list,
      leader,
      one,
      two,
    ])
  })

  it('has a hash of its own', async () => {
    const hash = await receiptHash(good)
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await receiptHash(structuredClone(good))).toBe(hash)
    expect(await receiptHash({ ...good, client_nonce: 99n })).not.toBe(hash)
  })
})

it('has no form of a receipt with fewer than two verifiers', () => {
  const one = z.encode(Receipt, good)
  expect(Receipt.safeParse(one).success).toBe(true)
  expect(Receipt.safeParse({ ...one, verifiers: one.verifiers.slice(1) }).success).toBe(false)
})

it('a no-match without a reason does not hold, nor a match with one', async () => {
  const dissent = { verdict: 'no-match', reason: undefined } as const
  const votes = { matches: 1, no_matches: 1 }
  for (const [verifiers, tally] of [
    [[{}, dissent], votes],
    [[{}, { verdict: 'match', reason: 'inconclusive' }], {}],
  ] as const) {
    expect(await objection(await restated({ verifiers, tally }))).toContain('gave no reason')
  }
})
