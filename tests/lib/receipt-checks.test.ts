import { beforeAll, describe, expect, it } from 'vitest'
import type { Address } from '../../lib/codecs.ts'
import { exact } from '../../lib/comparators/exact.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import type { JobListView } from '../../lib/schemas/list.ts'
import type { Receipt, ReceiptRecord } from '../../lib/schemas/receipt.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import { statementBytes } from '../../lib/statements.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'
import { addressAt, makeReceipt, signedByNode, signerOf, tallied } from './make-receipt.ts'
import { type Restated, restated } from './restate.ts'

let good: Receipt
/** Five answers: the second and the third say something else. */
let split: Receipt
/** The first to deliver was refused, the second did nothing. */
let third: Receipt
let iclKey: string

beforeAll(async () => {
  const made = await makeReceipt('exact', ['yes', 'yes', 'yes'])
  good = made.receipt
  iclKey = made.iclKey
  split = (await makeReceipt('exact', ['yes', 'no', 'maybe', 'yes', 'yes'])).receipt
  const failed = ['output-refused', 'never-delivered'] as const
  third = (await makeReceipt('exact', ['yes', 'yes', 'yes'], { failed })).receipt
})

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

/** What is said of a receipt whose nodes and ICL have signed something else. */
const after = async (receipt: Receipt, changes: Restated) =>
  objection(await restated(receipt, changes))

/** What is said of a receipt whose ICL has signed another record. */
const afterRecord = async (receipt: Receipt, record: Partial<ReceiptRecord>) => {
  const { group, deliverer } = receipt.tally.body
  return objection(await tallied({ ...receipt, ...record }, { group, deliverer }))
}

const otherId = aHash(`0x${'1'.repeat(64)}`)
const otherCid = `bafkrei${'c'.repeat(52)}`
const stranger = anAddress(`0x${'9'.repeat(40)}`)
const positionOf = ({ list }: Receipt, address: Address) => list.members.indexOf(address)
/** A member of the group that does not deliver. */
const checkerOf = (receipt: Receipt) =>
  receipt.verdicts.find(({ body }) => body.verdict === 'match')!.body.address
const evidenceOf = (text: string) =>
  exact.evidenceOf({ text, prompt: '', key: new Uint8Array(32).fill(3) })

describe('a receipt', () => {
  it('holds when everybody has signed it, with any key or with those of the ICL', async () => {
    for (const receipt of [good, split, third]) {
      expect(await objection(receipt)).toBeUndefined()
      expect(await objection(receipt, { iclKeys: ['A'.repeat(43), iclKey] })).toBeUndefined()
      expect(await after(receipt, {})).toBeUndefined()
    }
  })

  it('is about the job that its parts make', async () => {
    const changes: Partial<Receipt>[] = [
      { jobId: aJobId(otherId) },
      { client: stranger },
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

  it('has a list that fits its terms, and terms that answers can meet', async () => {
    const { terms, members } = good.list
    const [one, two] = members
    const wrong: [Partial<JobListView>, string][] = [
      [{ terms: { ...terms, icl_origin: 'https://b.test' } }, 'its list is for another ICL'],
      [{ members: [one!, two!, one!] }, 'a node is on its list twice'],
      [{ members: [one!, two!, good.client] }, 'the client is on its own list'],
      [{ terms: { ...terms, list_length: 8 } }, 'its list is longer than the terms allow'],
      [
        { passed: [{ position: 9, reason: 'busy', at: 1 }] },
        'it passes over a node that is not on its list',
      ],
      [
        { members: members.slice(0, 3), terms: { ...terms, quorum: 4 } },
        'a quorum of 4 needs as many nodes, and the list has 3',
      ],
      [
        { terms: { ...terms, max_answers: 3, min_matches: 3 } },
        '4 answers have to match one another, and the job has at most 3',
      ],
    ]
    for (const [change, why] of wrong) {
      expect(await afterRecord(good, { list: { ...good.list, ...change } })).toBe(why)
    }
  })
})

describe('the answers of a receipt', () => {
  const [n1, n2, n3] = [0, 1, 2].map(addressAt)

  it('stand by batch and position, each node once', async () => {
    const [first, second, last] = good.answers
    const orders: [Receipt['answers'], string][] = [
      [[first!, first!, last!], `${n1} answered twice`],
      [[second!, first!, last!], `the answer of ${n1} is out of order`],
      [[{ ...first!, batch: 1 }, second!, last!], `the answer of ${n2} is out of order`],
    ]
    for (const [answers, why] of orders) expect(await afterRecord(good, { answers })).toBe(why)
  })

  it('are of nodes in their places, for this list, model and length', async () => {
    const said: [Restated['answers'], string][] = [
      [{ 1: { position: 3 } }, `${n2} is not at its place on the list`],
      [{ 1: { list: otherId } }, `${n2} answered for another list`],
      [{ 1: { model_id: 'openai:b' } }, `${n2} ran another model`],
      [{ 1: { max_output_tokens: 9 } }, `${n2} allowed another length of answer`],
      [{ 1: { jobId: aJobId(otherId) } }, `${n2} spoke of another job`],
    ]
    for (const [answers, why] of said) expect(await after(good, { answers: answers! })).toBe(why)
    expect(await afterRecord(good, { max_output_tokens: 9 })).toBe(
      `${n1} allowed another length of answer`,
    )
    for (const change of [{ activator: stranger }, { until: 9 }]) {
      expect(await afterRecord(good, { list: { ...good.list, ...change } })).toBe(
        `${n1} answered for another list`,
      )
    }
  })

  it('have evidence in the form of the comparator', async () => {
    const evidence = { ...(await evidenceOf('yes')), comparator: 'similar/2' as const }
    expect(await after(good, { answers: { 0: { evidence } } })).toContain(
      `the evidence of ${n1} is malformed`,
    )
  })

  it('are signed by keys that the wallets granted until the job settled, each by its own', async () => {
    const [first, second, last] = good.answers
    const with2 = (change: Partial<Receipt['answers'][number]>) =>
      afterRecord(good, { answers: [first!, { ...second!, ...change }, last!] })
    const notAfter = { ...second!.session, not_after: second!.session.not_after + 1 }
    expect(await with2({ session: notAfter })).toBe(
      `the wallet of ${n2} did not grant the session key`,
    )
    expect(await with2({ signature: last!.signature })).toBe(`${n2} did not sign its statement`)
    const { key, session } = await signerOf('n2', 21)
    const signature = await key.sign(statementBytes(second!.body))
    expect(await with2({ session, signature })).toBe(`${n1} and ${n2} have the same session key`)
    expect(await after(good, { tally: { settled_at: second!.session.not_after + 1 } })).toBe(
      `the session of ${n1} had ended`,
    )
  })

  it('leave no node out up to the last that had a seat', async () => {
    const positions = [0, 1, 3]
    const at = 1_800_000_000
    const of = async (changes: Parameters<typeof makeReceipt>[2]) =>
      objection((await makeReceipt('exact', ['a', 'a', 'a'], { positions, ...changes })).receipt)
    const unsaid = `it does not say what became of ${n3}`
    const lapsed = { fence: 9, reason: 'lease-lapsed' as const, at }
    expect(await of({})).toBe(unsaid)
    expect(await of({ list: { passed: [{ position: 2, reason: 'busy', at }] } })).toBeUndefined()
    expect(await of({ over: [{ position: 2, ...lapsed }] })).toBeUndefined()
    expect(await of({ over: [{ position: 4, ...lapsed }] })).toBe(unsaid)
    expect(await of({ over: [{ position: 9, ...lapsed }] })).toBe(
      'it seats a node that is not on its list',
    )
    expect(await of({ over: [{ position: 2, ...lapsed, fence: 1 }] })).toBe(
      'two of its assignments have the same fence',
    )
  })
})

describe('the agreement of a receipt', () => {
  it('is decided again, batch by batch', async () => {
    const [one, two, three, four, five] = split.answers as Required<Receipt['answers']>
    const at = 1
    const over = [{ position: 1, fence: 9, reason: 'never-revealed' as const, at }]
    const answers = [one!, three!, four!, five!]
    expect(await afterRecord(split, { answers, over })).toBe(
      'batch 0 has 2 answers, where 3 were missing',
    )
    expect(
      await afterRecord(split, { answers: [one!, two!, three!, four!, { ...five!, batch: 2 }] }),
    ).toBe('batch 1 has 1 answers, where 2 were missing')
    expect(
      await afterRecord(split, { answers: [one!, two!, three!, { ...four!, batch: 0 }, five!] }),
    ).toBe('batch 0 has 4 answers, where 3 were missing')
    const relabelled = [one!, two!, { ...four!, batch: 0 }, { ...three!, batch: 1 }, five!]
    expect(await afterRecord(split, { answers: relabelled })).toBe(
      'an answer of a later batch was asked for before one of an earlier',
    )
    expect(await afterRecord(split, { answers: [one!, two!, three!] })).toBe(
      'its answers do not agree',
    )
    const evidence = await evidenceOf('yes')
    expect(await after(split, { answers: { 1: { evidence }, 2: { evidence } } })).toBe(
      'its answers agreed before batch 1',
    )
  })

  it('is that of its own rule, with as many answers as the terms allow', async () => {
    const texts = ['yes', 'yes', 'no']
    const { receipt } = await makeReceipt('exact', texts, { rule: 'any-two' })
    expect(await objection(receipt)).toBeUndefined()
    const withTerms = (of: Receipt, terms: Partial<Terms>) =>
      afterRecord(of, { list: { ...of.list, terms: { ...of.list.terms, ...terms } } })
    expect(await withTerms(receipt, { rule: 'three' })).toBe('its answers do not agree')
    expect(await withTerms(receipt, { min_matches: 2 })).toBe('its answers do not agree')
    expect(await withTerms(split, { max_answers: 4 })).toBe(
      'it has more answers than its terms allow',
    )
    const evidence = await evidenceOf('no')
    expect(await after(good, { answers: { 2: { evidence } } })).toBe('its answers do not agree')
  })

  it('is the one that the ICL has signed', async () => {
    expect(await after(split, { tally: { group: 0b10011 } })).toBe('the tally has another group')
  })
})

describe('the deliveries of a receipt', () => {
  it('come from the members in the order that the salts draw', async () => {
    const [refused, silent] = third.failed_deliveries
    const turns: [Receipt['failed_deliveries'], string][] = [
      [[], 'it was the turn of another node to deliver'],
      [[silent!, refused!], `it was not the turn of ${silent!.address} to deliver`],
      [[refused!], 'it was the turn of another node to deliver'],
    ]
    for (const [failed, why] of turns) {
      expect(await afterRecord(third, { failed_deliveries: failed })).toBe(why)
    }
    const last = { ...silent!, address: third.tally.body.deliverer }
    expect(await afterRecord(third, { failed_deliveries: [refused!, silent!, last] })).toBe(
      'no member is left to deliver',
    )
    const another = checkerOf(good)
    expect(await after(good, { tally: { deliverer: another } })).toBe(
      'it was the turn of another node to deliver',
    )
    expect(await after(good, { delivery: { address: another } })).toBe('another node delivered')
  })

  it('that failed did so for the reason that is given', async () => {
    const [refused, silent] = third.failed_deliveries
    const failing = (turn: Partial<Receipt['failed_deliveries'][number]>) =>
      afterRecord(third, { failed_deliveries: [{ ...refused!, ...turn }, silent!] })
    const { address } = refused!
    const otherReason = `${address} failed to deliver for another reason`
    expect(await failing({ reason: 'never-delivered' })).toBe(otherReason)
    const { delivery: _, ...undelivered } = refused!
    const turns = [undelivered, silent!]
    expect(await afterRecord(third, { failed_deliveries: turns })).toBe(otherReason)
    const wordless = { ...undelivered, reason: 'node-failed' as const }
    expect(await afterRecord(third, { failed_deliveries: [wordless, silent!] })).toBe(
      `${address} had delivered nothing`,
    )
    expect(await failing({ delivery: third.delivery })).toBe(
      `the delivery of ${address} is of another node`,
    )
    const matched = { verdict: 'match' as const, reason: undefined }
    expect(await after(third, { verdicts: { 0: matched, 1: matched, 2: matched } })).toBe(
      `the delivery of ${address} was good`,
    )
  })

  it("are of the deliverer's own answer, and signed", async () => {
    const { deliverer } = good.tally.body
    expect(await after(good, { delivery: { fence: 9 } })).toBe(
      `${deliverer} delivered for another assignment`,
    )
    expect(await after(good, { delivery: { answer: otherId } })).toBe(
      `${deliverer} delivered another answer`,
    )
    const delivery = { ...good.delivery, signature: good.answers[0]!.signature }
    expect(await afterRecord(good, { delivery })).toBe(`${deliverer} did not sign its statement`)
  })

  it('settle by verdicts that name this delivery and an own answer', async () => {
    const checker = checkerOf(good)
    const at = positionOf(good, checker)
    const says = (change: NonNullable<Restated['verdicts']>[number]) =>
      after(good, { verdicts: { [at]: change } })
    const { deliverer } = good.tally.body
    expect(await says({ address: addressAt(5) })).toBe(
      `${addressAt(5)} gave a verdict without an answer`,
    )
    expect(await says({ address: deliverer })).toBe(
      `${deliverer} gave a verdict on its own delivery`,
    )
    expect(await says({ fence: 9 })).toBe(`the verdict of ${checker} is for another assignment`)
    expect(await says({ answer: otherId })).toBe(`${checker} compared another answer of its own`)
    expect(await says({ delivery: otherId })).toBe(`${checker} looked at another delivery`)
    const noReason = `${checker} gave no reason, or one too many`
    expect(await says({ verdict: 'no-match' })).toBe(noReason)
    expect(await says({ reason: 'output-mismatch' })).toBe(noReason)
    const refuted = `the evidence of ${checker} refutes its verdict`
    expect(await says({ verdict: 'no-match', reason: 'different-answer' })).toBe(refuted)
    const [verdict] = good.verdicts
    expect(await afterRecord(good, { verdicts: [verdict!, verdict!] })).toBe(
      `${verdict!.body.address} gave two verdicts`,
    )
    const forged = { ...verdict!, signature: good.answers[0]!.signature }
    expect(await afterRecord(good, { verdicts: [forged] })).toBe(
      `${verdict!.body.address} did not sign its statement`,
    )
    const { body } = split.verdicts.find(({ body }) => body.verdict === 'no-match')!
    const dissent = await signedByNode({ ...body, verdict: 'match' as const, reason: undefined })
    expect(await afterRecord(split, { verdicts: [dissent] })).toBe(
      `the evidence of ${body.address} refutes its verdict`,
    )
  })

  it('settle with one match at least, and no fewer than mismatches', async () => {
    const unaccepted = 'the verdicts do not accept the delivery'
    expect(await afterRecord(good, { verdicts: [] })).toBe(unaccepted)
    const dissent = split.verdicts.filter(({ body }) => body.verdict === 'no-match')
    expect(await afterRecord(split, { verdicts: dissent })).toBe(unaccepted)
    const mismatch = { verdict: 'no-match', reason: 'output-mismatch' } as const
    const unseen = { verdict: 'no-match', reason: 'output-unavailable' } as const
    const [first, second] = good.verdicts.map(({ body }) => positionOf(good, body.address))
    expect(await after(good, { verdicts: { [first!]: mismatch } })).toBeUndefined()
    expect(await after(good, { verdicts: { [first!]: mismatch, [second!]: unseen } })).toBe(
      unaccepted,
    )
    expect(await afterRecord(good, { verdicts: good.verdicts.slice(0, 1) })).toBeUndefined()
  })
})

describe('the tally of a receipt', () => {
  it('is signed by a key of the ICL, over this very record', async () => {
    expect(await objection(good, { iclKeys: ['A'.repeat(43)] })).toBe(
      'the tally key is not one of the ICL',
    )
    const { tally } = good
    const unsigned = { ...tally, signature: good.answers[0]!.signature }
    expect(await objection({ ...good, tally: unsigned })).toBe('the ICL did not sign the tally')
    expect(await after(good, { tally: { jobId: aJobId(otherId) } })).toBe(
      'the tally is of another job',
    )
    expect(await after(good, { tally: { record: otherId } })).toBe('the tally is of another record')
    const passed = [{ position: 5, reason: 'busy' as const, at: 1 }]
    expect(await objection({ ...good, list: { ...good.list, passed } })).toBe(
      'the tally is of another record',
    )
    const swapped = [...split.verdicts].reverse()
    expect(await objection({ ...split, verdicts: swapped })).toBe('the tally is of another record')
  })
})
