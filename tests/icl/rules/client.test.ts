import { expect, it } from 'vitest'
import { allowanceOf, withAccepted } from '../../../icl/rules/client.ts'
import { dayMs } from '../../../lib/time.ts'
import { nodeA as client } from './sample-job.ts'

it('a client has an allowance of its own from 7 days after its first accepted job', () => {
  expect(allowanceOf(undefined, 100 * dayMs)).toBe('newcomers')
  const known = withAccepted(undefined, client, 5)
  expect(allowanceOf(known, 5 + 7 * dayMs - 1)).toBe('newcomers')
  expect(allowanceOf(known, 5 + 7 * dayMs)).toBe(client)
})

it('the first accepted job counts, whichever is heard of first', () => {
  const known = withAccepted(undefined, client, 5)
  expect(withAccepted(known, client, 5)).toBe(known)
  expect(withAccepted(known, client, 6)).toBe(known)
  expect(withAccepted(known, client, 4)).toEqual({ address: client, firstAcceptedAt: 4 })
})
