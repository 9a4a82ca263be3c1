import { describe, expect, it } from 'vitest'
import { toBase64Url } from '../../lib/digest.ts'
import { faultEvidenceHash, faultIdOf, verifyFault } from '../../lib/fault.ts'
import { type NodeStatement, signed } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import { aHash, anAddress } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { sampleNetwork } from '../sample-network.ts'
import { coordinator } from './fake-chain.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { deliveryOf, givenIn, verdictOf } from './node-steps.ts'
import { answerJob, checkAll, delivererOf, expire } from './run-job.ts'
import { joinNodes, origin, type TestNode } from './test-icl.ts'

const slashWei = 5_000_000_000_000_000n
const minuteMs = 60_000

/** An ICL that slashes, with a job whose nodes have given `answers`, and whose deliverer has delivered. */
async function startJob(answers: readonly string[] = ['yes', 'yes', 'yes'], wei = slashWei) {
  const network = sampleNetwork({
    public_url: origin,
    chain_id: 31_337,
    coordinator,
    slash_wei: wei,
  })
  await startIcl({ network })
  const nodes = await joinNodes(icl, 4)
  const { job, jobId, seated } = await answerJob(icl, nodes, answers)
  const deliverer = (await delivererOf(seated, jobId))!
  const delivery = await deliveryOf(icl, deliverer, jobId)
  await deliverer.api.postResult({ body: delivery })
  const other = { output_cid: `bafkrei${'c'.repeat(51)}a` }
  const contradiction = await changed(deliverer, delivery, other)
  icl.chain.slashExecutableAt = Math.floor((icl.clock.now() + 3 * dayMs) / 1000)
  const text = answers[seated.indexOf(deliverer)]
  const inGroup = (node: TestNode) => answers[seated.indexOf(node)] === text
  return {
    ...{ job, jobId, seated, deliverer, delivery, contradiction },
    checkers: seated.filter((node) => node !== deliverer && inGroup(node)),
    others: seated.filter((node) => !inGroup(node)),
  }
}

/** A statement that was made before, changed and signed anew. */
const changed = <S extends NodeStatement>(
  { key }: TestNode,
  { signature: _, ...statement }: S & { readonly signature: string },
  change: Partial<S>,
) => signed({ ...statement, ...change } as unknown as S, key)

const faultsOf = async (address: `0x${string}`) =>
  (await icl.api().getNodeFaults({ params: { address: anAddress(address) }, query: {} })).faults

const codesOf = async (address: `0x${string}`) =>
  (
    await icl.api().getNodeEvents({ params: { address: anAddress(address) }, query: {} })
  ).events.map(({ body }) => body.code)

const recordOf = ({ job }: Awaited<ReturnType<typeof startJob>>) =>
  job.api.getRecord({ params: { jobId: job.jobId } }, { readToken: job.readToken })

describe('a second, different, signed delivery', () => {
  it('is refused and kept as a proof, which anybody can check, and the stake goes after the time to answer', async () => {
    const world = await startJob()
    const { deliverer, contradiction, job } = world
    const before = (await icl.api().getNode({ params: { address: deliverer.address } })).metrics
    for (let time = 0; time < 2; time++) {
      expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe(
        'already-answered',
      )
    }
    await icl.clock.advance(minuteMs)
    await expire(icl)
    const [fault, ...more] = await faultsOf(deliverer.address)
    expect(more).toEqual([])
    expect(fault).toMatchObject({
      kind: 'equivocated',
      address: deliverer.address,
      jobId: job.jobId,
      slash: { state: 'proposed', amount_wei: slashWei },
    })
    const { evidence } = fault!
    expect(await verifyFault(evidence!)).toBe('equivocated')
    expect(icl.chain.proposals).toEqual([
      {
        faultId: faultIdOf(evidence!),
        operator: deliverer.address,
        amountWei: slashWei,
        evidenceHash: await faultEvidenceHash(evidence!),
      },
    ])
    expect((await codesOf(deliverer.address)).toSorted()).toEqual(['answer-agreed', 'equivocated'])
    const after = (await icl.api().getNode({ params: { address: deliverer.address } })).metrics
    expect(after.reputation_score).toBeLessThan(before.reputation_score)
    expect(after.total_slash_amount).toBe(0)

    await icl.clock.jump(3 * dayMs)
    await icl.clock.advance(minuteMs)
    const [settled] = await faultsOf(deliverer.address)
    expect(settled?.slash).toMatchObject({ state: 'executed', taken_wei: slashWei })
    expect([settled?.evidence, settled?.evidence_hash]).toEqual([undefined, fault?.evidence_hash])
    const { metrics } = await icl.api().getNode({ params: { address: deliverer.address } })
    expect(metrics.total_slash_amount).toBe(5_000_000)
    expect((await codesOf(deliverer.address)).toSorted()).toEqual([
      'answer-agreed',
      'equivocated',
      'slashed',
    ])
    expect(icl.chain.proposals).toHaveLength(1)
    const { events } = await recordOf(world)
    expect(events.map(({ type }) => type).filter((type) => /fault|slash/.test(type))).toEqual([
      'fault-found',
      'slash-proposed',
      'slash-executed',
    ])
  })

  it("is no fault when the signature is a stranger's, or when it is the same again", async () => {
    const { deliverer, delivery, contradiction, checkers } = await startJob()
    const forged = await changed(checkers[0]!, contradiction, {})
    const tampered = { ...contradiction, output_cid: delivery.output_cid, outHighHandle: 5n }
    for (const body of [forged, tampered]) {
      expect(await codeOf(deliverer.api.postResult({ body }))).toBe('statement-signature-invalid')
    }
    expect(await deliverer.api.postResult({ body: delivery })).toMatchObject({ phase: 'running' })
    await icl.clock.advance(minuteMs)
    expect(await faultsOf(deliverer.address)).toEqual([])
  })

  it('costs nothing but its score where the arbiter dismisses it', async () => {
    const { deliverer, contradiction } = await startJob()
    expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    const { faultId } = icl.chain.proposals[0]!
    icl.chain.slashes.set(faultId, { state: 'cancelled', tx: aHash(`0x${'d'.repeat(64)}`) })
    await icl.clock.jump(60 * minuteMs)
    await icl.clock.advance(minuteMs)
    expect((await faultsOf(deliverer.address))[0]?.slash?.state).toBe('cancelled')
    const { metrics } = await icl.api().getNode({ params: { address: deliverer.address } })
    expect(metrics.total_slash_amount).toBe(0)
    expect(await codesOf(deliverer.address)).toContain('slash-dismissed')
  })

  it('stays due, with what the chain says, until the coordinator may accuse', async () => {
    const world = await startJob()
    const { deliverer, contradiction } = world
    icl.chain.refusesSlashes = new SvcError('chain-reverted', 'NodeRegistry refused: MissingRole', {
      hint: 'Give it the role.',
      retryable: true,
    })
    expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe('already-answered')
    await expire(icl)
    await icl.clock.advance(minuteMs)
    expect((await faultsOf(deliverer.address))[0]?.slash_error).toContain('MissingRole')
    const { pending } = await recordOf(world)
    expect(pending.find(({ type }) => type === 'slash-node')?.error).toContain('MissingRole')
    icl.chain.refusesSlashes = undefined
    await icl.clock.jump(10 * minuteMs)
    await icl.clock.advance(minuteMs)
    const [fault] = await faultsOf(deliverer.address)
    expect([fault?.slash?.state, fault?.slash_error]).toEqual(['proposed', undefined])
  })

  it('is given up, and its evidence forgotten, when a month has passed since the accused left with its stake', async () => {
    const world = await startJob()
    const { deliverer, contradiction, job } = world
    icl.chain.refusesSlashes = new SvcError('stake-gone', 'NodeRegistry refused: NotRegistered', {
      hint: 'It has left.',
      retryable: true,
    })
    expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe('already-answered')
    await expire(icl)
    await icl.clock.jump(29 * dayMs)
    await icl.clock.advance(minuteMs)
    expect((await recordOf(world)).pending.map(({ type }) => type)).toEqual(['slash-node'])
    await icl.clock.jump(2 * dayMs)
    // The next try, and then the look at what is old.
    await icl.clock.jump(60 * minuteMs)
    await icl.clock.advance(5 * minuteMs)
    expect(await icl.deps.store.findJob(job.jobId)).toBeUndefined()
    expect(icl.chain.proposals).toEqual([])
    expect(await codesOf(deliverer.address)).toContain('equivocated')
  })

  it('is proposed once, also when the answer to the proposal is lost', async () => {
    const { deliverer, contradiction } = await startJob()
    const { proposeSlash } = icl.chain
    icl.chain.proposeSlash = async (slash) => {
      await proposeSlash(slash)
      throw new SvcError('chain-unavailable', 'The answer was lost', { hint: '', retryable: true })
    }
    expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    expect(icl.chain.proposals).toHaveLength(1)
    expect((await faultsOf(deliverer.address))[0]).toMatchObject({ slash: { state: 'proposed' } })
  })

  it('is proposed to nobody where the operator wants no slashes, but is on record', async () => {
    const world = await startJob(undefined, 0n)
    const { deliverer, contradiction } = world
    expect(await codeOf(deliverer.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    await expire(icl)
    const [fault] = await faultsOf(deliverer.address)
    expect([fault?.slash?.state, icl.chain.proposals]).toEqual(['off', []])
    expect(await verifyFault(fault!.evidence!)).toBe('equivocated')
  })
})

it('a second, different statement is a proven fault of each node: two answers, two verdicts on one delivery', async () => {
  const world = await startJob()
  const { jobId, checkers } = world
  const [first, second] = checkers as [TestNode, TestNode]
  const { answer } = givenIn(first, jobId)
  const salt = toBase64Url(new Uint8Array(32).fill(1))
  const answers = await changed(first, answer, { salt })
  expect(await codeOf(first.api.revealAnswer({ body: answers }))).toBe('already-answered')
  const verdict = await verdictOf(second, jobId)
  await second.api.postVerdict({ body: verdict })
  const said = { verdict: 'no-match', reason: 'output-mismatch' } as const
  const body = await changed(second, verdict, said)
  expect(await codeOf(second.api.postVerdict({ body }))).toBe('already-answered')
  await expire(icl)
  for (const [node, kind] of [
    [first, 'svc-answer-v3'],
    [second, 'svc-verdict-v2'],
  ] as const) {
    const [fault, ...more] = await faultsOf(node.address)
    expect([fault?.kind, more]).toEqual(['equivocated', []])
    const { evidence } = fault!
    expect(evidence?.statements.map((each) => each.body.statement)).toEqual([kind, kind])
    expect(await verifyFault(evidence!)).toBe('equivocated')
  }
  await icl.clock.advance(minuteMs)
  expect(icl.chain.proposals.map(({ operator }) => operator).toSorted()).toEqual(
    [first.address, second.address].toSorted(),
  )
})

describe('a verdict that the evidence of its own answer refutes', () => {
  const lies: Readonly<
    Record<string, { readonly isMember: boolean; readonly said: Parameters<typeof verdictOf>[2] }>
  > = {
    'match, though the answers differ': { isMember: false, said: { verdict: 'match' } },
    'different, though the answers match': {
      isMember: true,
      said: { verdict: 'no-match', reason: 'different-answer' },
    },
  }
  for (const [name, { isMember, said }] of Object.entries(lies)) {
    it(`is a proven fault with four statements, and counts for nothing: ${name}`, async () => {
      const world = await startJob(['yes', 'yes', 'no', 'yes'])
      const { job, jobId, checkers, others, seated } = world
      const liar = (isMember ? checkers : others)[0]!
      const body = await verdictOf(liar, jobId, said)
      for (let time = 0; time < 2; time++) await liar.api.postVerdict({ body })
      await icl.clock.advance(10_000)
      const params = { address: liar.address }
      expect(
        (await icl.api().getNodeFaults({ params, query: {} })).faults[0]?.evidence,
      ).toBeUndefined()
      await checkAll(seated, jobId)
      const token = { readToken: job.readToken }
      const receipt = await job.api.getReceipt({ params: { jobId } }, token)
      expect(receipt.verdicts.map((each) => each.body.address)).not.toContain(liar.address)
      const [fault, ...more] = await faultsOf(liar.address)
      expect([fault?.kind, more]).toEqual(['verdict-refuted', []])
      const { evidence } = fault!
      expect(evidence?.statements.map((each) => each.body.statement)).toEqual([
        'svc-answer-v3',
        'svc-delivery-v2',
        'svc-answer-v3',
        'svc-verdict-v2',
      ])
      expect(await verifyFault(evidence!)).toBe('verdict-refuted')
      await icl.clock.advance(2_000)
      const own = isMember ? 'answer-undecided' : 'answer-differed'
      expect((await codesOf(liar.address)).toSorted()).toEqual([own, 'verdict-refuted'])
    })
  }
})

it('two faults of one assignment cost both their slashes, and the record of the node has both', async () => {
  const world = await startJob()
  const { jobId, checkers } = world
  const liar = checkers[0]!
  const said = { verdict: 'no-match', reason: 'different-answer' } as const
  await liar.api.postVerdict({ body: await verdictOf(liar, jobId, said) })
  const { answer } = givenIn(liar, jobId)
  const salt = toBase64Url(new Uint8Array(32).fill(1))
  const body = await changed(liar, answer, { salt })
  expect(await codeOf(liar.api.revealAnswer({ body }))).toBe('already-answered')
  await expire(icl)
  await icl.clock.advance(minuteMs)
  await icl.clock.jump(3 * dayMs)
  await icl.clock.advance(minuteMs)
  expect((await faultsOf(liar.address)).map(({ kind, slash }) => [kind, slash?.state])).toEqual(
    expect.arrayContaining([
      ['equivocated', 'executed'],
      ['verdict-refuted', 'executed'],
    ]),
  )
  const { metrics } = await icl.api().getNode({ params: { address: liar.address } })
  expect(metrics.total_slash_amount).toBe(10_000_000)
  expect((await codesOf(liar.address)).filter((code) => code === 'slashed')).toHaveLength(2)
})
