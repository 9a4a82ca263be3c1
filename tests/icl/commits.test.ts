import { expect, it } from 'vitest'
import { loadJob } from '../../icl/operations/change-job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { jobCosts } from './job-costs.ts'
import { commitTo, deliveryOf, reveal, verdictOf } from './node-steps.ts'
import { delivererOf } from './run-job.ts'
import { listedKey, storedKey, submissionOf } from './test-client.ts'
import { createTestIcl, joinNodes } from './test-icl.ts'

/*
 * What each command saves, and what of it is one save. What is refused is left out, because it changes nothing. The store's
 * tests have what a save costs on each adapter.
 */

/** A store that tells of each save, by the kinds of its writes, and whether it was refused. */
function telling<T extends Store>(store: T, note: (what: string, isRefused: boolean) => void): T {
  const whatOf = (writes: readonly Write[]) => writes.map(({ kind }) => kind).join(' + ')
  return Object.assign(Object.create(store) as T, {
    save: async (...args: Parameters<Store['save']>) => {
      const isSaved = await store.save(...args)
      note(whatOf([args[0]]), !isSaved)
      return isSaved
    },
    saveAll: async (...args: Parameters<Store['saveAll']>) => {
      const refused = await store.saveAll(...args)
      note(whatOf(args[0]), refused !== undefined)
      return refused
    },
  })
}

it('the saves of a command are one for each, besides the nonce of an upload, and blobs before what names them', async () => {
  const icl = await createTestIcl()
  const saves: string[] = []
  const counting = telling(icl.deps.store, (what, isRefused) => {
    if (!isRefused) saves.push(what)
  })
  const cost = await jobCosts(icl, counting, async (work): Promise<readonly string[]> => {
    saves.length = 0
    await work()
    return [...saves]
  })
  await icl.stop()
  expect(cost).toEqual({
    heartbeat: ['node'],
    upload: ['key', 'key', 'blob'],
    // A process keeps the two parts of a pool longer once, each by a save of its own.
    submission: ['keep-blob', 'keep-blob', 'key + key + key + keep-blob + job'],
    'repeated submission': ['key'],
    claim: ['job'],
    commit: ['job'],
    reveal: ['job'],
    delivery: ['keep-blob + job'],
    contradiction: ['job'],
    verdict: ['keep-blob', 'keep-blob', 'keep-blob + keep-blob + job'],
    'own assignment': [],
    score: ['key + event + node'],
    effect: ['job'],
    pool: ['keep-blob', 'blob', 'key + key'],
  })
})

it('are none in vain in a whole job, whatever nodes and background do at once', async () => {
  const saves: string[] = []
  const refused: string[] = []
  const store = telling(createMemoryStore(), (what, isRefused) => {
    ;(isRefused ? refused : saves).push(what)
  })
  const own = await createTestIcl({ store })
  const nodes = await joinNodes(own, 3)
  await own.clock.advance(2_000)
  const key = await listedKey(own)
  const prompt = { query: storedKey(own, 'client'), body: new Uint8Array(32).fill(1) }
  const { cid: promptCid } = await own.api(key.client.signer).putBlob(prompt)
  const { body, commit, jobId } = submissionOf(own, key, { promptCid })
  commit()
  const polls = nodes.map(({ address, api }) =>
    api.getAssignments({ params: { address }, query: { wait: 20 } }),
  )
  await own.clock.advance(300)
  saves.length = 0
  refused.length = 0

  await own.api(key.client.signer).submitJob({ body })
  const found = await Promise.all(polls.map((poll) => own.clock.until(poll)))
  const claims = await Promise.all(
    nodes.map(({ api }, index) => {
      const { fence } = found[index]!.assignments[0]!
      return api.claimAssignment({ body: { jobId, fence } })
    }),
  )
  await Promise.all(nodes.map((node, index) => commitTo(node, claims[index]!, 'x')))
  await Promise.all(nodes.map((node) => reveal(node, jobId)))
  const deliverer = (await delivererOf(nodes, jobId))!
  const delivery = await deliveryOf(own, deliverer, jobId)
  const until = own.clock.now() + 60_000
  await own.deps.blobs.put(delivery.output_cid, prompt.body, { uploader: 'node', until })
  await deliverer.api.postResult({ body: delivery })
  const checkers = nodes.filter((node) => node !== deliverer)
  const verdicts = await Promise.all(checkers.map((checker) => verdictOf(checker, jobId)))
  await Promise.all(
    checkers.map((checker, index) => checker.api.postVerdict({ body: verdicts[index]! })),
  )
  await own.clock.advance(2_000)
  const job = await loadJob(own.deps, jobId)
  await own.stop()

  expect([job.phase, job.outbox, job.commitTx !== undefined]).toEqual(['accepted', [], true])
  // Whether a blob is there already is found out by keeping it.
  expect(refused.filter((what) => what !== 'keep-blob')).toEqual([])
  // The offers are one, as are the scores that are done and the result, and what nodes send at the same time.
  expect(saves.filter((what) => what.endsWith('job'))).toHaveLength(8)
})
