import { afterEach, beforeEach, expect, it } from 'vitest'
import { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { claim, commitTo, reveal } from '../icl/node-steps.ts'
import { submit } from '../icl/test-client.ts'
import { createTestIcl, joinNode, type TestIcl, type TestNode } from '../icl/test-icl.ts'

// What the fuzz has found, so that it stays mended.

let icl: TestIcl
let nodes: TestNode[]
beforeEach(async () => {
  icl = await createTestIcl()
  nodes = []
  for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
})
afterEach(() => icl.stop())

it('claiming what one has done already is refused with a code that the document has', async () => {
  const submitted = await submit(icl)
  const leader = nodes.find(({ address }) => address === submitted.leader)!
  const claimed = await claim(leader)
  for (const node of nodes) {
    const own = node === leader ? claimed : await claim(node)
    await commitTo(node, own, 'yes')
  }
  await reveal(leader, claimed.jobId)
  const body = { jobId: claimed.jobId, fence: claimed.fence }
  const error = await leader.api.claimAssignment({ body }).catch((refused: unknown) => refused)
  if (!(error instanceof ProblemError)) throw error
  expect(error.code).toBe('not-claimed')
  expect(endpoints.claimAssignment.problems).toContain(error.code)
})
