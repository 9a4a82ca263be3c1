import { describe, expect, it, vi } from 'vitest'
import { endedWithout, inferenceError } from '../../lib/client/inference.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { anAddress } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { abortTurn, check, deliver, deliveryOf, givenIn, ownAssignment } from './node-steps.ts'
import { answerJob, checkAll, delivererOf } from './run-job.ts'
import { joinNodes, type TestNode } from './test-icl.ts'

/** A job whose nodes have given these answers, its deliverer, and the other members of the agreement. */
async function agreed(answers: readonly string[] = ['yes', 'yes', 'yes'], pool = answers.length) {
  await startIcl()
  const nodes = await joinNodes(icl, pool)
  const answered = await answerJob(icl, nodes, answers)
  const { job, jobId, seated } = answered
  const deliverer = (await delivererOf(seated, jobId))!
  const text = answers[seated.indexOf(deliverer)]
  const checkers = seated.filter((node, seat) => node !== deliverer && answers[seat] === text)
  return {
    ...answered,
    client: job.client.address,
    deliverer,
    checkers,
    others: seated.filter((node) => node !== deliverer && !checkers.includes(node)),
    stepOf: async (node: TestNode) => (await ownAssignment(node, jobId)).step,
    receipt: () => job.api.getReceipt({ params: { jobId } }, { readToken: job.readToken }),
  }
}

const addressesOf = (nodes: readonly TestNode[]): Address[] => nodes.map(({ address }) => address)

const codesOf = async (node: TestNode) => {
  await icl.clock.advance(1_500)
  const params = { address: node.address }
  const { events } = await icl.api().getNodeEvents({ params, query: {} })
  return events.map(({ body }) => body.code).toSorted()
}

const mismatch = { verdict: 'no-match', reason: 'output-mismatch' } as const
const unavailable = { verdict: 'no-match', reason: 'output-unavailable' } as const

/** The library's word that a receipt holds. */
async function expectValid(receipt: Parameters<typeof verifyReceipt>[0]) {
  const { keys } = await icl.api().getJwks()
  await verifyReceipt(receipt, { iclKeys: keys.map(({ x }) => x) })
}

describe('the node whose turn it is to deliver', () => {
  it('is told who has to read its output, and the others are told what to check', async () => {
    const { jobId, deliverer, checkers, others, seated } = await agreed(['a', 'b', 'a', 'a'], 5)
    const members = givenIn(deliverer, jobId).claimed.list
    const own = await ownAssignment(deliverer, jobId)
    expect([own.step, own.deadline! - own.server_time]).toEqual(['deliver', 45])
    expect(own.checkers?.map((position) => members[position])).toEqual(addressesOf(checkers))
    for (const node of seated) {
      if (node !== deliverer)
        expect(await ownAssignment(node, jobId)).toMatchObject({ step: 'wait' })
    }
    const delivery = await deliveryOf(icl, deliverer, jobId)
    await deliverer.api.postResult({ body: delivery })
    expect((await ownAssignment(deliverer, jobId)).step).toBe('wait')
    const { answer } = givenIn(deliverer, jobId)
    for (const [nodes, step] of [
      [checkers, 'check'],
      [others, 'differ'],
    ] as const) {
      for (const node of nodes) {
        const seen = await ownAssignment(node, jobId)
        expect([seen.step, seen.deadline! - seen.server_time]).toEqual([step, 45])
        const { delivery: seenDelivery, answer: seenAnswer } = seen.to_check!
        expect({ ...seenDelivery.body, signature: seenDelivery.signature }).toEqual(delivery)
        expect({ ...seenAnswer.body, signature: seenAnswer.signature }).toEqual(answer)
        expect(seen.checkers).toBeUndefined()
      }
    }
  })

  it('is heard only once the chain shows its own output key of this prompt, open to the client and all checkers and nobody else', async () => {
    const { jobId, client, deliverer, checkers, view, seated } = await agreed()
    const [one, two] = addressesOf(checkers) as [Address, Address]
    for (const readers of [[], [client], [one, two], [client, one], [client, two]]) {
      expect([readers, await codeOf(deliver(icl, deliverer, jobId, readers))]).toEqual([
        readers,
        'output-key-unreadable',
      ])
    }
    const stranger = anAddress(`0x${'9'.repeat(40)}`)
    const open = deliver(icl, deliverer, jobId, [client, one, two, stranger])
    expect(await codeOf(open)).toBe('output-key-unreadable')
    const half = await deliveryOf(icl, deliverer, jobId)
    const name = `${half.outHighHandle}:${half.outLowHandle}`
    const key = icl.chain.outputs.get(name)!
    for (const other of [{ self: key.self + 1 }, { promptHighHandle: 1n }, { readers: [] }]) {
      icl.chain.outputs.set(name, { ...key, ...other })
      expect(await codeOf(deliverer.api.postResult({ body: half }))).toBe('output-key-unreadable')
    }
    icl.chain.outputs.delete(name)
    expect(await codeOf(deliverer.api.postResult({ body: half }))).toBe('output-key-unreadable')
    expect((await ownAssignment(deliverer, jobId)).step).toBe('deliver')
    // What the chain shows later is looked at anew.
    icl.chain.outputs.set(name, key)
    expect(await codeOf(deliverer.api.postResult({ body: half }))).toBeUndefined()
    await checkAll(seated, jobId)
    expect(await view()).toMatchObject({ status: 'accepted', outHighHandle: half.outHighHandle })
  })

  it('is answered from the job when it delivers the same again: the chain may be away', async () => {
    const { jobId, deliverer } = await agreed()
    const body = await deliveryOf(icl, deliverer, jobId)
    await deliverer.api.postResult({ body })
    icl.chain.down = new SvcError('chain-unavailable', 'the chain is away', { hint: '' })
    const asked = vi.spyOn(icl.chain, 'isAllowed')
    expect(await codeOf(deliverer.api.postResult({ body }))).toBeUndefined()
    expect(asked).not.toHaveBeenCalled()
    icl.chain.down = undefined
  })

  it('alone uploads an output, and only until it has delivered', async () => {
    const { jobId, deliverer, checkers, seated } = await agreed()
    const upload = (node: TestNode) => {
      const { fence } = givenIn(node, jobId).claimed
      return codeOf(node.api.putBlob({ query: { jobId, fence }, body: new Uint8Array(64).fill(1) }))
    }
    for (const node of checkers) expect(await upload(node)).toBe('not-your-turn')
    expect(await upload(deliverer)).toBeUndefined()
    await abortTurn(deliverer, jobId, 'node-failed')
    expect(await upload(deliverer)).toBe('not-your-turn')
    const next = (await delivererOf(seated, jobId))!
    expect(await upload(next)).toBeUndefined()
    await deliver(icl, next, jobId)
    for (const node of seated) expect(await upload(node)).toBe('not-your-turn')
    await checkAll(seated, jobId)
    expect(await upload(next)).toBe('job-settled')
  })
})

describe('a turn that comes to nothing', () => {
  it('goes to the next member at once when its node gives it back; that one may still check', async () => {
    const { jobId, deliverer, seated, view, receipt, stepOf } = await agreed()
    await abortTurn(deliverer, jobId, 'node-failed')
    const next = (await delivererOf(seated, jobId))!
    expect(next).not.toBe(deliverer)
    expect(await codeOf(deliver(icl, deliverer, jobId))).toBe('not-your-turn')
    await deliver(icl, next, jobId)
    expect(await stepOf(deliverer)).toBe('check')
    await checkAll(seated, jobId)
    expect(await view()).toMatchObject({
      status: 'accepted',
      agreement: { deliverer: next.address },
    })
    const signed = await receipt()
    await expectValid(signed)
    expect(signed.failed_deliveries).toMatchObject([
      { address: deliverer.address, reason: 'node-failed', verdicts: [] },
    ])
    const abort = signed.failed_deliveries[0]!.abort!.body
    expect([abort.address, abort.turn, abort.reason]).toEqual([deliverer.address, 0, 'node-failed'])
    expect(signed.verdicts.map(({ body }) => body.address).toSorted()).toEqual(
      addressesOf(seated.filter((node) => node !== next)).toSorted(),
    )
    expect(await codesOf(deliverer)).toEqual(['answer-undecided'])
    expect(await codesOf(next)).toEqual(['answer-delivered'])
  })

  it('goes to the next member when the others refuse the output, with what they said in the receipt', async () => {
    const { jobId, deliverer, checkers, seated, view, receipt } = await agreed()
    await deliver(icl, deliverer, jobId)
    await check(checkers[0]!, jobId, mismatch)
    await check(checkers[1]!, jobId, unavailable)
    const next = (await delivererOf(seated, jobId))!
    expect(checkers).toContain(next)
    await deliver(icl, next, jobId)
    await checkAll(seated, jobId)
    expect((await view()).status).toBe('accepted')
    const signed = await receipt()
    await expectValid(signed)
    const [failed] = signed.failed_deliveries
    expect([failed?.address, failed?.reason, failed?.delivery?.body.address]).toEqual([
      deliverer.address,
      'output-refused',
      deliverer.address,
    ])
    expect(failed?.verdicts.map(({ body }) => body.reason)).toEqual([
      'output-mismatch',
      'output-unavailable',
    ])
    expect(await codesOf(deliverer)).toEqual(['answer-undecided', 'output-refused'])
  })

  for (const [how, fail, cause, told] of [
    [
      'give it back',
      (node: TestNode, jobId: JobId) => abortTurn(node, jobId, 'wallet-empty'),
      'wallet-empty',
      /none of them delivered it: the node's wallet cannot pay for gas$/,
    ],
    [
      'let it pass',
      () => icl.clock.advance(46_000),
      'never-delivered',
      /none of them delivered it: it was the turn of the node to deliver its answer/,
    ],
  ] as const) {
    it(`ends the job as undelivered when all members ${how}`, async () => {
      const { job, jobId, seated, view } = await agreed(['a', 'b', 'a', 'a'], 5)
      const tried = new Set<TestNode>()
      for (;;) {
        const node = await delivererOf(seated, jobId)
        if (!node) break
        expect(tried.has(node)).toBe(false)
        tried.add(node)
        await fail(node, jobId)
      }
      expect(tried.size).toBe(3)
      const ended = await view()
      const { status, reason, agreement, output_cid, quorum } = ended
      expect([status, reason, output_cid]).toEqual(['disputed', 'undelivered', undefined])
      expect([agreement?.group.length, agreement?.deliverer]).toEqual([3, undefined])
      expect(quorum.map(({ delivery_reason }) => delivery_reason)).toEqual([
        ...[cause, undefined, cause, cause],
      ])
      const failed = { ...endedWithout(ended), jobId, readToken: '', timingsMs: { total: 0 } }
      expect(inferenceError(failed).message).toMatch(told)
      const receipt = job.api.getReceipt({ params: { jobId } }, { readToken: job.readToken })
      expect(await codeOf(receipt)).toBe('receipt-not-ready')
      expect(icl.chain.committed).toEqual([])
    })
  }
})

it('a delivery waits for no node outside the agreement, whose word is kept when it comes in time', async () => {
  for (const isInTime of [true, false]) {
    const { jobId, deliverer, checkers, others, view, receipt } = await agreed(['no', 'yes', 'yes'])
    await deliver(icl, deliverer, jobId)
    if (isInTime) await check(others[0]!, jobId)
    expect((await view()).status).toBe('running')
    await check(checkers[0]!, jobId)
    expect((await view()).status).toBe('accepted')
    const signed = await receipt()
    await expectValid(signed)
    expect(signed.verdicts.map(({ body }) => body.reason)).toEqual(
      isInTime ? ['different-answer', undefined] : [undefined],
    )
    expect(await codesOf(others[0]!)).toEqual(['answer-differed'])
    if (isInTime) await icl.stop()
  }
})
