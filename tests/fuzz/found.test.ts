import { afterEach, beforeEach, expect, it } from 'vitest'
import { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import {
  claim,
  createTestIcl,
  joinNode,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
} from '../icl/test-icl.ts'

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
  const { preview } = await submit(icl)
  const leader = nodes.find(({ address }) => address === preview.leader)!
  const task = await claim(leader)
  await leader.api.postResult({ body: await resultBody(icl, leader, task, 'yes') })
  const body = { jobId: task.jobId, fence: task.fence }
  const error = await leader.api.claimTask({ body }).catch((refused: unknown) => refused)
  if (!(error instanceof ProblemError)) throw error
  expect(error.code).toBe('not-claimed')
  expect(endpoints.claimTask.problems).toContain(error.code)
})
