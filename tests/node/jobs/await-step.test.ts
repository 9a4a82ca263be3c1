import { expect, it, vi } from 'vitest'
import type { OwnAssignment } from '../../../lib/schemas/assignments.ts'
import { awaitStep } from '../../../node/jobs/await-step.ts'
import type { JobDeps } from '../../../node/jobs/job-deps.ts'
import { createJobWorld } from '../job-world.ts'

it('asks again after a pause for a step that is named once more in the answer to it', async () => {
  const { deps, claim, clock } = await createJobWorld('verifier')
  const view: OwnAssignment = {
    jobId: claim.jobId,
    status: 'committed',
    phase: 'running',
    role: 'verifier',
    fence: claim.fence,
    step: 'reveal',
    server_time: claim.server_time,
  }
  const startedAt = clock.now()
  const askedAt: number[] = []
  const getAssignment = vi.fn<JobDeps['api']['getAssignment']>(async () => {
    askedAt.push(clock.now() - startedAt)
    return view
  })
  const api = { ...deps.api, getAssignment }
  const before = { known: view, last: 'reveal ', refused: new Set<string>() }
  const { signal } = new AbortController()
  const next = await clock.until(awaitStep({ ...deps, api }, claim, before, signal))
  expect(next).toMatchObject({ step: 'reveal', key: 'reveal ' })
  expect(askedAt).toEqual([2_000])
})
