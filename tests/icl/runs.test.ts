import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { signResult } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import {
  beat,
  claim,
  commitTo,
  createTestIcl,
  joinNode,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
} from './test-icl.ts'

let icl: TestIcl
beforeEach(async () => {
  icl = await createTestIcl()
})
afterEach(() => icl.stop())

let runs = 0
/** Starts a daemon: another run, with a session key of its own. */
const start = async (name: string): Promise<TestNode> => {
  await icl.clock.advance(1_000)
  return joinNode(icl, name, `${name}, run ${++runs}`)
}
/** Its next request, a while later. */
const next = async (node: TestNode): Promise<string | undefined> => {
  await icl.clock.advance(2_000)
  return codeOf(beat(icl, node))
}

describe('a run', () => {
  it('ends when another one starts, and does not come back', async () => {
    const former = await joinNode(icl, 'n1')
    const current = await start('n1')
    expect(await next(former)).toBe('run-superseded')
    expect(await codeOf(joinNode(icl, 'n1'))).toBe('run-superseded')
    expect(await next(current)).toBeUndefined()
  })

  it('goes on when its certificate is renewed', async () => {
    const node = await joinNode(icl, 'n1')
    await icl.clock.jump(20 * 3_600_000)
    await joinNode(icl, 'n1')
    expect(await next(node)).toBeUndefined()
  })

  it('is nobody else’s: a stranger who names its key shows nothing', async () => {
    const [first, second] = [await joinNode(icl, 'n1'), await start('n1')]
    const third = await start('n1')
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(9))
    for (const { address, key: named } of [first, second]) {
      const signer = { kind: 'node', address, key: { ...named, sign: key.sign } } as const
      await icl.clock.advance(2_000)
      const call = icl.api(signer).getAssignments({ params: { address }, query: { wait: 0 } })
      expect(await codeOf(call)).toBe('signature-invalid')
    }
    expect(await next(third)).toBeUndefined()
  })
})

describe('daemons that supersede one another', () => {
  it('are both refused, and may not attest, for ten minutes', async () => {
    const first = await joinNode(icl, 'n1')
    const second = await start('n1')
    expect(await next(first)).toBe('run-superseded')
    const third = await start('n1')
    expect(await next(second)).toBe('run-conflict')
    expect(await next(third)).toBe('run-conflict')
    expect(await codeOf(start('n1'))).toBe('run-conflict')
    expect((await icl.api().getActiveNodes({ query: { min_tier: 0 } })).nodes).toEqual([])
    await icl.clock.advance(10 * 60_000)
    const fourth = await start('n1')
    expect(await next(fourth)).toBeUndefined()
    expect(await next(third)).toBe('run-superseded')
    expect(await next(fourth)).toBeUndefined()
  })
})

describe('what a former run signed', () => {
  /** A job of three nodes that all have claimed, its result and its verdicts signed and not yet posted. */
  async function signedJob() {
    const nodes: TestNode[] = []
    for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
    const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
    const job = await submit(icl)
    const leader = nodeAt(job.leader)
    const result = await resultBody(icl, leader, await claim(leader), 'yes')
    const verifiers = job.verifiers.map(nodeAt)
    const reveals: Awaited<ReturnType<typeof commitTo>>[] = []
    for (const node of verifiers) reveals.push(await commitTo(node, await claim(node), 'yes'))
    return { job, leader, result, verifiers, reveals }
  }

  it('is taken from the current run byte for byte, from every seat', async () => {
    const { job, leader, result, verifiers, reveals } = await signedJob()
    const restarted = await start(leader.name)
    expect(await codeOf(leader.api.postResult({ body: result }))).toBe('run-superseded')
    expect((await restarted.api.postResult({ body: result })).status).toBe('done')
    for (const [index, verifier] of verifiers.entries()) {
      const verdict = await reveals[index]!()
      // Killed more than once, even.
      await start(verifier.name)
      const { api } = await start(verifier.name)
      expect((await api.postVerdict({ body: verdict })).status).toBe('done')
    }
    await icl.clock.advance(1_500)
    const options = { readToken: job.readToken }
    const receipt = await job.api.getReceipt({ params: { jobId: job.jobId } }, options)
    expect(receipt.leader.session.key).toBe(leader.key.publicKey)
  })

  it('and what the current one signs for the same fence are no fault', async () => {
    const { leader, result } = await signedJob()
    const restarted = await start(leader.name)
    await restarted.api.postResult({ body: result })
    const { signature: _, ...unsigned } = result
    const other = { ...unsigned, output_cid: `bafkrei${'c'.repeat(52)}` }
    const again = await signResult(restarted.address, other, restarted.key)
    expect(await codeOf(restarted.api.postResult({ body: again }))).toBe('already-answered')
    const { address } = leader
    expect((await icl.api().getNodeFaults({ params: { address }, query: {} })).faults).toEqual([])
  })

  it('is not taken when it was no run of the node', async () => {
    const { leader, result } = await signedJob()
    const stranger = await signingKeyFromSeed(new Uint8Array(32).fill(9))
    const { signature: _, ...unsigned } = result
    const body = await signResult(leader.address, unsigned, stranger)
    const restarted = await start(leader.name)
    expect(await codeOf(restarted.api.postResult({ body }))).toBe('statement-signature-invalid')
  })
})
