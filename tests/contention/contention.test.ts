import { describe, expect, it } from 'vitest'
import { whyNoWireServer } from '../store/wire-server/open.ts'
import { runContention } from './run.ts'
import type { Counts } from './tally.ts'

const limitMs = 900_000
const missing = await whyNoWireServer()

const expectSound = (counts: Counts, claims: number) => {
  expect(counts.claims).toBeGreaterThanOrEqual(claims)
  // How many of them end in a lease depends on how busy the machine is.
  expect(counts.leases).toBeGreaterThan(0)
  expect(counts.refused).toBeGreaterThan(0)
  expect(counts).toMatchObject({ doubleGrants: 0, fenceRegressions: 0 })
}

describe('assignments that many claim at once, while leases end and work is given back', () => {
  it(
    'go to one node each, in one process over sqlite',
    async () => {
      const options = { store: 'sqlite', replicas: 1, jobs: 16, nodes: 12 } as const
      expectSound(await runContention({ ...options, claims: 400 }), 400)
    },
    limitMs,
  )

  const name = 'go to one node each, in three processes over MongoDB’s protocol'
  if (missing !== undefined) it.skip(`${name}: ${missing}`, () => {})
  else {
    it(
      name,
      async () => {
        // Three have 400 claims between them; more at once only wait for the one core that SecantusDB uses.
        const options = { store: 'mongodb', replicas: 3, jobs: 3, nodes: 9 } as const
        expectSound(await runContention({ ...options, claims: 400 }), 400)
      },
      limitMs,
    )
  }
})
