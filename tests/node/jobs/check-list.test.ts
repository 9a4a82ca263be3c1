import { describe, expect, it } from 'vitest'
import { listCommitment } from '../../../lib/list-commitment.ts'
import type { ClaimResult } from '../../../lib/schemas/assignments.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aJobId } from '../../branded.ts'
import { clientAddress, spareAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld) =>
  world.clock.until(runJob(world.deps, world.assignment, new AbortController().signal, steps))

/** The job was given back before anything was decrypted. */
function refused(world: JobWorld, why: RegExp) {
  const reasons = world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)
  expect(reasons).toEqual(['list-untrusted'])
  expect(world.log.lines.join('\n')).toMatch(why)
  expect(world.log.lines.join('\n')).not.toMatch(/decrypt/i)
  expect(world.complete).not.toHaveBeenCalled()
}

describe.each(['leader', 'verifier'] as const)('the list of a job that a node is %s of', (role) => {
  it('is trusted when the client has committed to it', async () => {
    const world = await createJobWorld(role)
    await run(world)
    expect(world.complete).toHaveBeenCalledTimes(1)
  })

  const lies: Record<string, (claim: ClaimResult) => Partial<ClaimResult>> = {
    'is in another order': ({ list }) => ({
      list: [...list.slice(0, 2), ...list.slice(2).toReversed()],
    }),
    'has another node': ({ list }) => ({ list: [...list.slice(0, 3), clientAddress] }),
    'is for another job': () => ({ jobId: aJobId(`0x${'77'.repeat(32)}`) }),
    'names another activator': () => ({ activator: spareAddress }),
    'ends at another time': ({ until }) => ({ until: until + 1 }),
  }
  for (const [what, lie] of Object.entries(lies)) {
    it(`is refused when the one on chain ${what}`, async () => {
      const world = await createJobWorld(role)
      const onChain = listCommitment({ ...world.claim, ...lie(world.claim) })
      world.chain.commitments.set(world.claim.kpHighHandle, onChain)
      const startedAt = world.clock.now()
      await run(world)
      refused(world, /ERROR .*aborted: the ICL gave a list of nodes that is not the one on chain/)
      expect(world.clock.now()).toBe(startedAt)
    })
  }

  it('is refused when the node is not at its position, or the client is on it', async () => {
    const changes: readonly ((claim: ClaimResult) => Partial<ClaimResult>)[] = [
      () => ({ position: 2 }),
      () => ({ position: 15 }),
      ({ list }) => ({ list: [...list, clientAddress] }),
    ]
    for (const change of changes) {
      const world = await createJobWorld(role)
      const claim = { ...world.claim, ...change(world.claim) }
      world.api.claimAssignment.mockResolvedValue(claim)
      world.chain.commitments.set(claim.kpHighHandle, listCommitment(claim))
      await run(world)
      refused(world, /list of nodes (where \d+ is not this node's position|with the client itself)/)
    }
  })

  it('is waited for while the commitment is on its way, and given back after 8 s', async () => {
    const late = await createJobWorld(role)
    const { kpHighHandle } = late.claim
    const commitment = late.chain.commitments.get(kpHighHandle)!
    late.chain.commitments.clear()
    const mined = late.clock
      .sleep(5_000)
      .then(() => late.chain.commitments.set(kpHighHandle, commitment))
    await run(late)
    await mined
    expect(late.complete).toHaveBeenCalledTimes(1)

    const never = await createJobWorld(role)
    never.chain.commitments.clear()
    const startedAt = never.clock.now()
    await run(never)
    expect(never.clock.now() - startedAt).toBe(8_000)
    expect(never.log.lines.join('\n')).toMatch(/to which the client has not committed on chain/)
    expect(never.complete).not.toHaveBeenCalled()
  })

  it('is not judged by a chain RPC that is behind the prompt key, which is named and left', async () => {
    for (const showsList of [false, true]) {
      const world = await createJobWorld(role)
      if (!showsList) world.chain.commitments.clear()
      world.coprocessor.granted.clear()
      world.chain.state.block = 70n
      await run(world)
      const reasons = world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)
      expect(reasons).toEqual(['node-chain-unavailable'])
      expect(world.chain.state.left).toEqual(['rpc.example'])
      expect(world.log.lines.join('\n')).toMatch(
        /aborted: the chain RPC at rpc\.example is 30 or more blocks behind: its newest block is 70, \d+ s old/,
      )
    }
  })
})
