import { describe, expect, it } from 'vitest'
import { verifyReceipt } from '../../lib/receipt.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { type NodeStatement, signed } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl } from './fresh-icl.ts'
import {
  claim,
  commitTo,
  deliver,
  deliveryOf,
  givenIn,
  openingOf,
  verdictOf,
} from './node-steps.ts'
import { answerJob, checkAll, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { beat, joinNode, joinNodes, type TestNode } from './test-icl.ts'

freshIcl()

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

  it('continues when its certificate is renewed', async () => {
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

it('daemons that supersede one another are both refused, and may not attest, for ten minutes', async () => {
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

describe('what a former run signed', () => {
  /** Three nodes with an answer and whose turn it is to deliver. */
  async function agreedJob() {
    const nodes = await joinNodes(icl, 3)
    const { job, jobId, seated } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
    const deliverer = (await delivererOf(seated, jobId))!
    return { job, jobId, deliverer, checkers: seated.filter((node) => node !== deliverer) }
  }

  it('is taken from the current run byte for byte, from every node', async () => {
    const nodes = await joinNodes(icl, 3)
    const job = await submit(icl)
    const { jobId } = job
    for (const node of nodes) await commitTo(node, await claim(node), 'yes')
    const restarted: TestNode[] = []
    for (const node of nodes) {
      const answer = await openingOf(node, jobId)
      // Killed more than once, even.
      await start(node.name)
      const current = await start(node.name)
      expect(await codeOf(node.api.revealAnswer({ body: answer }))).toBe('run-superseded')
      expect((await current.api.revealAnswer({ body: answer })).status).toBe('revealed')
      restarted.push({ ...current, given: node.given })
    }
    // What a run signs anew for the same fence is its own.
    const deliverer = (await delivererOf(restarted, jobId))!
    await deliver(icl, deliverer, jobId)
    await checkAll(restarted, jobId)
    const options = { readToken: job.readToken }
    const receipt = await job.api.getReceipt({ params: { jobId } }, options)
    const keys = receipt.answers.map(({ session }) => session.key)
    expect(new Set(keys)).toEqual(new Set(nodes.map(({ key }) => key.publicKey)))
    expect(receipt.delivery.session.key).toBe(deliverer.key.publicKey)
    const iclKeys = (await icl.api().getJwks()).keys.map(({ x }) => x)
    await verifyReceipt(receipt, { iclKeys })
  })

  it('and what the current one signs for the same fence are no fault', async () => {
    const { jobId, deliverer, checkers } = await agreedJob()
    const delivery = await deliveryOf(icl, deliverer, jobId)
    await deliverer.api.postResult({ body: delivery })
    const [checker] = checkers as [TestNode, TestNode]
    const verdict = await verdictOf(checker, jobId)
    await checker.api.postVerdict({ body: verdict })
    const { answer } = givenIn(checker, jobId)
    const current = [await start(deliverer.name), await start(checker.name)] as const
    const signedBy = async <S extends NodeStatement>(
      { key }: TestNode,
      { signature: _, ...said }: S & { readonly signature: string },
      change: Partial<S>,
    ) => signed({ ...said, ...change } as unknown as S, key)
    const output = { output_cid: `bafkrei${'c'.repeat(51)}a` }
    const [second, other] = current
    const refused = [
      second.api.postResult({ body: await signedBy(second, delivery, output) }),
      other.api.postVerdict({
        body: await signedBy(other, verdict, { verdict: 'no-match', reason: 'output-mismatch' }),
      }),
      other.api.revealAnswer({ body: await signedBy(other, answer, { max_output_tokens: 7 }) }),
    ]
    for (const call of refused) expect(await codeOf(call)).toBe('already-answered')
    for (const { address } of current) {
      const { faults } = await icl.api().getNodeFaults({ params: { address }, query: {} })
      expect(faults).toEqual([])
    }
  })

  it('is not taken when it was no run of the node', async () => {
    const { jobId, deliverer } = await agreedJob()
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(9))
    const body = await deliveryOf(icl, { ...deliverer, key }, jobId)
    const { api } = await start(deliverer.name)
    expect(await codeOf(api.postResult({ body }))).toBe('statement-signature-invalid')
  })
})
