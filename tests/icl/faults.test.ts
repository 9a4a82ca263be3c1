import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { faultEvidenceHash, faultIdOf, verifyFault } from '../../lib/fault.ts'
import { FaultEvidence } from '../../lib/schemas/fault.ts'
import { signResult, signVerdict } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import { aHash, anAddress } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { sampleNetwork } from '../sample-network.ts'
import { coordinator } from './fake-chain.ts'
import {
  claim,
  commitTo,
  createTestIcl,
  joinNode,
  origin,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
} from './test-icl.ts'

let icl: TestIcl
afterEach(() => icl.stop())

const slashWei = 5_000_000_000_000_000n
const minuteMs = 60_000

/** An ICL that slashes, with a job whose leader has answered and whose verifiers have committed to `answers`. */
async function startJob(answers: readonly [string, string] = ['yes', 'yes'], wei = slashWei) {
  const network = sampleNetwork({
    public_url: origin,
    chain_id: 31_337,
    coordinator,
    slash_wei: wei,
  })
  icl = await createTestIcl({ network })
  const nodes: TestNode[] = []
  for (const name of ['n1', 'n2', 'n3', 'n4']) nodes.push(await joinNode(icl, name))
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const job = await submit(icl)
  const leader = nodeAt(job.leader)
  const verifiers = job.verifiers.map(nodeAt)
  const leaderClaim = await claim(leader)
  const reveals: Awaited<ReturnType<typeof commitTo>>[] = []
  for (const [index, verifier] of verifiers.entries()) {
    reveals.push(await commitTo(verifier, await claim(verifier), answers[index]!))
  }
  const result = await resultBody(icl, leader, leaderClaim, 'yes')
  await leader.api.postResult({ body: result })
  const { signature: _, ...unsigned } = result
  const other = { ...unsigned, output_cid: `bafkrei${'c'.repeat(52)}` }
  const contradiction = await signResult(leader.address, other, leader.key)
  icl.chain.slashExecutableAt = Math.floor((icl.clock.now() + 3 * dayMs) / 1000)
  return { job, leader, verifiers, reveals, result, contradiction }
}

const faultsOf = async (address: `0x${string}`) =>
  (await icl.api().getNodeFaults({ params: { address: anAddress(address) }, query: {} })).faults

const codesOf = async (address: `0x${string}`) =>
  (
    await icl.api().getNodeEvents({ params: { address: anAddress(address) }, query: {} })
  ).events.map(({ body }) => body.code)

/** Ends the job: only then are proofs shown. */
const end = ({ job }: Awaited<ReturnType<typeof startJob>>) =>
  job.api.cancelJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })

const recordOf = ({ job }: Awaited<ReturnType<typeof startJob>>) =>
  job.api.getRecord({ params: { jobId: job.jobId } }, { readToken: job.readToken })

describe('a second, different, signed result', () => {
  it('is refused and kept as a proof, which anybody can check, and the stake goes after the time to answer', async () => {
    const world = await startJob()
    const { leader, contradiction, job } = world
    const before = (await icl.api().getNode({ params: { address: leader.address } })).metrics
    for (let time = 0; time < 2; time++) {
      expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    }
    await icl.clock.advance(minuteMs)
    await end(world)
    const [fault, ...more] = await faultsOf(leader.address)
    expect(more).toEqual([])
    expect(fault).toMatchObject({
      kind: 'equivocated',
      role: 'leader',
      address: leader.address,
      jobId: job.jobId,
      slash: { state: 'proposed', amount_wei: slashWei },
    })
    const { evidence } = fault!
    expect(await verifyFault(evidence!)).toBe('equivocated')
    expect(icl.chain.proposals).toEqual([
      {
        faultId: faultIdOf(evidence!),
        operator: leader.address,
        amountWei: slashWei,
        evidenceHash: await faultEvidenceHash(evidence!),
      },
    ])
    expect(await codesOf(leader.address)).toEqual(['equivocated'])
    const after = (await icl.api().getNode({ params: { address: leader.address } })).metrics
    expect(after.reputation_score).toBeLessThan(before.reputation_score)
    expect(after.total_slash_amount).toBe(0)

    await icl.clock.jump(3 * dayMs)
    await icl.clock.advance(minuteMs)
    const [settled] = await faultsOf(leader.address)
    expect(settled?.slash).toMatchObject({ state: 'executed', taken_wei: slashWei })
    expect([settled?.evidence, settled?.evidence_hash]).toEqual([undefined, fault?.evidence_hash])
    const { metrics } = await icl.api().getNode({ params: { address: leader.address } })
    expect(metrics.total_slash_amount).toBe(5_000_000)
    expect((await codesOf(leader.address)).toSorted()).toEqual(['equivocated', 'slashed'])
    expect(icl.chain.proposals).toHaveLength(1)
    const { events } = await recordOf(world)
    expect(events.map(({ type }) => type).filter((type) => /fault|slash/.test(type))).toEqual([
      'fault-found',
      'slash-proposed',
      'slash-executed',
    ])
  })

  it("counts also when it is about another model, and not when the signature is a stranger's", async () => {
    const { leader, result, verifiers } = await startJob()
    const { signature: _, ...unsigned } = result
    const forged = await signResult(
      leader.address,
      { ...unsigned, fence: result.fence },
      verifiers[0]!.key,
    )
    const tampered = { ...forged, max_output_tokens: 5 }
    expect(await codeOf(leader.api.postResult({ body: tampered }))).toBe(
      'statement-signature-invalid',
    )
    expect(await leader.api.postResult({ body: result })).toMatchObject({ status: 'done' })
    await icl.clock.advance(minuteMs)
    expect(await faultsOf(leader.address)).toEqual([])
    const model = { ...unsigned, model_id: 'openai:other' }
    const other = await signResult(leader.address, model, leader.key)
    expect(await codeOf(leader.api.postResult({ body: other }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    expect((await faultsOf(leader.address)).map(({ kind }) => kind)).toEqual(['equivocated'])
  })

  it('costs nothing but its score where the arbiter dismisses it', async () => {
    const { leader, contradiction } = await startJob()
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    const { faultId } = icl.chain.proposals[0]!
    icl.chain.slashes.set(faultId, { state: 'cancelled', tx: aHash(`0x${'d'.repeat(64)}`) })
    await icl.clock.jump(60 * minuteMs)
    await icl.clock.advance(minuteMs)
    expect((await faultsOf(leader.address))[0]?.slash?.state).toBe('cancelled')
    const { metrics } = await icl.api().getNode({ params: { address: leader.address } })
    expect(metrics.total_slash_amount).toBe(0)
    expect(await codesOf(leader.address)).toContain('slash-dismissed')
  })

  it('stays due, with what the chain says, until the coordinator may accuse', async () => {
    const world = await startJob()
    const { leader, contradiction } = world
    icl.chain.refusesSlashes = new SvcError('chain-reverted', 'NodeRegistry refused: MissingRole', {
      hint: 'Give it the role.',
      retryable: true,
    })
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await end(world)
    await icl.clock.advance(minuteMs)
    expect((await faultsOf(leader.address))[0]?.slash_error).toContain('MissingRole')
    const { pending } = await recordOf(world)
    expect(pending.find(({ type }) => type === 'slash-node')?.error).toContain('MissingRole')
    icl.chain.refusesSlashes = undefined
    await icl.clock.jump(10 * minuteMs)
    await icl.clock.advance(minuteMs)
    const [fault] = await faultsOf(leader.address)
    expect([fault?.slash?.state, fault?.slash_error]).toEqual(['proposed', undefined])
  })

  it('is given up, and its evidence forgotten, when a month has passed since the accused left with its stake', async () => {
    const world = await startJob()
    const { leader, contradiction, job } = world
    icl.chain.refusesSlashes = new SvcError('stake-gone', 'NodeRegistry refused: NotRegistered', {
      hint: 'It has left.',
      retryable: true,
    })
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await end(world)
    await icl.clock.jump(29 * dayMs)
    await icl.clock.advance(minuteMs)
    expect((await recordOf(world)).pending.map(({ type }) => type)).toEqual(['slash-node'])
    await icl.clock.jump(2 * dayMs)
    await icl.clock.advance(2 * 60 * minuteMs)
    expect(await icl.deps.store.findJob(job.jobId)).toBeUndefined()
    expect(icl.chain.proposals).toEqual([])
    expect(await codesOf(leader.address)).toEqual(['equivocated'])
  })

  it('is proposed once, also when the answer to the proposal is lost', async () => {
    const { leader, contradiction } = await startJob()
    const { proposeSlash } = icl.chain
    icl.chain.proposeSlash = async (slash) => {
      await proposeSlash(slash)
      throw new SvcError('chain-unavailable', 'The answer was lost', { hint: '', retryable: true })
    }
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    expect(icl.chain.proposals).toHaveLength(1)
    expect((await faultsOf(leader.address))[0]).toMatchObject({ slash: { state: 'proposed' } })
  })

  it('is proposed to nobody where the operator wants no slashes, but is on record', async () => {
    const world = await startJob(['yes', 'yes'], 0n)
    const { leader, contradiction } = world
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(minuteMs)
    await end(world)
    const [fault] = await faultsOf(leader.address)
    expect([fault?.slash?.state, icl.chain.proposals]).toEqual(['off', []])
    expect(await verifyFault(fault!.evidence!)).toBe('equivocated')
  })
})

describe('a verdict that its own evidence refutes', () => {
  it('is a proven fault of the verifier', async () => {
    const world = await startJob(['no', 'yes'])
    const { verifiers, reveals } = world
    const liar = verifiers[0]!
    const { signature: _, reason: __, ...honest } = await reveals[0]!()
    const lie = await signVerdict(liar.address, { ...honest, verdict: 'match' }, liar.key)
    await liar.api.postVerdict({ body: lie })
    await icl.clock.advance(10_000)
    await end(world)
    const [fault] = await faultsOf(liar.address)
    expect(fault).toMatchObject({ kind: 'verdict-refuted', role: 'verifier' })
    expect(await verifyFault(fault!.evidence!)).toBe('verdict-refuted')
    expect(await codesOf(liar.address)).toEqual(['verdict-refuted'])
  })
})

describe('a proof', () => {
  it('proves nothing once anything in it is changed', async () => {
    const world = await startJob(['no', 'yes'])
    const { leader, contradiction, verifiers, reveals } = world
    const liar = verifiers[0]!
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    const { signature: _, reason: __, ...honest } = await reveals[0]!()
    const lie = await signVerdict(liar.address, { ...honest, verdict: 'match' }, liar.key)
    await liar.api.postVerdict({ body: lie })
    await icl.clock.advance(10_000)
    await end(world)
    const proofs = [(await faultsOf(leader.address))[0]!, (await faultsOf(liar.address))[0]!]
    let refused = 0
    for (const { evidence } of proofs) {
      for (const changed of changedOnce(z.encode(FaultEvidence, evidence!))) {
        const parsed = FaultEvidence.safeParse(changed.value)
        if (parsed.success) {
          const outcome = await verifyFault(parsed.data).catch(
            (error: { code: string }) => error.code,
          )
          expect([changed.path, outcome]).toEqual([changed.path, 'fault-invalid'])
        }
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(70)
    const evidence = proofs[0]!.evidence!
    const twice = { ...evidence, statements: [evidence.statements[0]!, evidence.statements[0]!] }
    expect(await codeOf(verifyFault(twice))).toBe('fault-invalid')
  })
})

type Changed = { readonly path: string; readonly value: unknown }

/** The value with one leaf changed, for every leaf; optional texts that no reader takes are left out by the schema itself. */
function changedOnce(value: unknown, path = ''): Changed[] {
  if (typeof value === 'string') return [{ path, value: flipped(value) }]
  if (typeof value === 'number') return [{ path, value: value + 1 }]
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      changedOnce(item, `${path}[${index}]`).map((changed) => ({
        path: changed.path,
        value: value.with(index, changed.value),
      })),
    )
  }
  return Object.entries(value as object).flatMap(([name, item]) =>
    changedOnce(item, `${path}.${name}`).map((changed) => ({
      path: changed.path,
      value: { ...(value as object), [name]: changed.value },
    })),
  )
}

const flipped = (text: string): string => {
  const at = Math.min(10, text.length - 1)
  const letter = text[at] === '1' ? '2' : '1'
  return text.slice(0, at) + letter + text.slice(at + 1)
}
