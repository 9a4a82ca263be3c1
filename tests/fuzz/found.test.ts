import { expect, it } from 'vitest'
import { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { freshIcl, icl, nodes } from '../icl/fresh-icl.ts'
import { claim, commitTo, reveal } from '../icl/node-steps.ts'
import { submit } from '../icl/test-client.ts'

// What the fuzz has found, so that it stays mended.

freshIcl(3)

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
