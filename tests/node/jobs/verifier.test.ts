import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import {
  commitmentOf,
  leaderStatementOf,
  statementBytes,
  statementHash,
  verifierStatementOf,
} from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { jobId, nodeAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const run = (world: JobWorld, onSlotFree = () => {}) =>
  world.clock.until(
    runJob(world.deps, world.assignment, new AbortController().signal, {
      onClaimed: () => {},
      onSlotFree,
    }),
  )

async function withLeader(text: string, shown = text) {
  const world = await createJobWorld('verifier')
  const statement = await world.leader(text, shown)
  world.api.getAssignment.mockResolvedValueOnce(world.view)
  world.api.getAssignment.mockResolvedValue({
    ...world.view,
    phase: 'running',
    deadline: Math.floor(world.clock.now() / 1000) + 60,
    leader_statement: statement,
  })
  return { world, statement }
}

const verdictOf = (world: JobWorld) => world.api.postVerdict.mock.calls[0]![0].body

describe('a verifier', () => {
  it('commits before it looks, and votes match on the same answer', async () => {
    const { world, statement } = await withLeader('Four.')
    const order: string[] = []
    world.api.commitAssignment.mockImplementation(async () => {
      order.push('commit')
      return { jobId, status: 'committed', phase: 'running' }
    })
    world.api.getAssignment.mockReset()
    world.api.getAssignment.mockImplementation(async () => {
      order.push('look')
      return { ...world.view, phase: 'running', leader_statement: statement }
    })
    await run(world, () => order.push('slot free'))

    expect(order.slice(0, 3)).toEqual(['commit', 'slot free', 'look'])
    const verdict = verdictOf(world)
    expect(verdict.verdict).toBe('match')
    expect(verdict.reason).toBeUndefined()
    const { address, ...body } = statement
    expect(verdict.leader_statement).toBe(await statementHash(leaderStatementOf(address, body)))
    const { evidence, salt } = verdict
    expect(world.api.commitAssignment.mock.calls[0]![0].body.commitment).toBe(
      await commitmentOf({ jobId, address: nodeAddress, fence: 1, evidence, salt }),
    )
    const signed = statementBytes(verifierStatementOf(nodeAddress, verdict))
    const { publicKey } = world.deps.sessionKey
    expect(await verifySignature(publicKey, verdict.signature, signed)).toBe(true)
    expect(world.log.lines.at(-1)).toBe(`INFO Job ${jobId}: Verdict: match`)
  })

  it('votes no-match on another answer', async () => {
    const { world } = await withLeader('Five.')
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'different-answer' })
    expect(world.log.lines.at(-1)).toContain('Verdict: no-match')
  })

  it('votes no-match when the output is not what the evidence claims', async () => {
    const { world } = await withLeader('Four.', 'Buy something instead.')
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-mismatch' })
  })

  it('votes no-match when the output cannot be unsealed', async () => {
    const { world, statement } = await withLeader('Four.')
    world.blobs.blobs.set(statement.output_cid, new Uint8Array(64).fill(1))
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-mismatch' })
  })

  it('votes no-match when the output cannot be had', async () => {
    const { world, statement } = await withLeader('Four.')
    world.blobs.blobs.delete(statement.output_cid)
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-unavailable' })
  })

  it('votes no-match when the output key stays unreadable, after waiting for a grant', async () => {
    const { world, statement } = await withLeader('Four.')
    world.coprocessor.granted.delete(statement.outHighHandle)
    const startedAt = world.clock.now()
    await run(world)
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(20_000)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-unavailable' })
  })

  it('comes back to an output that a gateway could not give for some seconds', async () => {
    const { world } = await withLeader('Four.')
    const backAt = world.clock.now() + 30_000
    const download: JobWorld['deps']['blobs']['download'] = async (cid) => {
      const isAway = cid !== world.claim.prompt_cid && world.clock.now() < backAt
      if (!isAway) return await world.blobs.download(cid)
      const why = 'http://gateway.example cannot be reached'
      throw new SvcError('blob-unavailable', why, { hint: 'Wait.', retryable: true })
    }
    world.deps = { ...world.deps, blobs: { download } }
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
  })

  for (const code of ['coprocessor-unavailable', 'coprocessor-too-many-requests']) {
    it(`blames no leader for its own ${code}`, async () => {
      const { world, statement } = await withLeader('Four.')
      const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
        if (handle !== statement.outHighHandle) return await world.coprocessor.decrypt(handle)
        throw new SvcError(code, 'CoFHE decrypt failed: x', { hint: 'Wait.', retryable: true })
      }
      world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
      expect(world.log.lines.join('\n')).toMatch(/ERROR .*output could not be read: CoFHE decrypt/)
    })
  }

  it('says why it could not read an output that never came', async () => {
    const { world } = await withLeader('Four.')
    const download: JobWorld['deps']['blobs']['download'] = async (cid) => {
      if (cid === world.claim.prompt_cid) return await world.blobs.download(cid)
      const why = 'http://gateway.example answered 404'
      throw new SvcError('blob-unavailable', why, { hint: 'Wait.', retryable: true })
    }
    world.deps = { ...world.deps, blobs: { download } }
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-unavailable' })
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*output could not be read: .*answered 404/)
  })

  it('misses nothing when its clock is set back while it waits', async () => {
    const { world, statement } = await withLeader('Four.')
    const { clock } = world
    let setBackMs = 0
    world.deps = { ...world.deps, clock: { ...clock, now: () => clock.now() - setBackMs } }
    let looks = 0
    world.api.getAssignment.mockReset()
    world.api.getAssignment.mockImplementation(async () => {
      looks += 1
      if (looks > 1) return { ...world.view, leader_statement: statement }
      setBackMs = 3_600_000
      return world.view
    })
    const startedAt = clock.now()
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
    expect(clock.now() - startedAt).toBeLessThan(60_000)
  })

  for (const hours of [-2, 2]) {
    it(`has the time that the ICL gives, with its own clock ${hours} h off`, async () => {
      const { world, statement } = await withLeader('Four.')
      const now = Math.floor(world.clock.now() / 1000) + hours * 3_600
      world.coprocessor.granted.delete(statement.outHighHandle)
      world.api.getAssignment.mockReset()
      world.api.getAssignment.mockResolvedValue({
        ...world.view,
        server_time: now,
        deadline: now + 25,
        leader_statement: statement,
      })
      const startedAt = world.clock.now()
      await run(world)
      expect(world.clock.now() - startedAt).toBe(15_000)
      expect(verdictOf(world)).toMatchObject({ reason: 'output-unavailable' })
    })
  }

  const withSecondsLeft = async (seconds: number, text = 'Four.') => {
    const { world, statement } = await withLeader(text)
    const now = Math.floor(world.clock.now() / 1000)
    world.api.getAssignment.mockReset()
    world.api.getAssignment.mockResolvedValue({
      ...world.view,
      server_time: now,
      deadline: now + seconds,
      leader_statement: statement,
    })
    return { world, statement }
  }

  it('tries with what is left when it comes late', async () => {
    const { world } = await withSecondsLeft(5)
    const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
      await world.clock.sleep(1_500)
      return await world.coprocessor.decrypt(handle)
    }
    world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
  })

  it('gives no verdict against a leader whose output it had no time to read', async () => {
    const { world, statement } = await withSecondsLeft(5)
    world.coprocessor.granted.delete(statement.outHighHandle)
    await run(world)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
    expect(world.log.lines.at(-1)).toMatch(/ERROR .*could not be checked in time/)
  })

  it('needs no look at the output to say that the answers differ', async () => {
    const { world, statement } = await withSecondsLeft(5, 'Five.')
    world.coprocessor.granted.delete(statement.outHighHandle)
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'different-answer' })
  })

  it('goes on waiting for the leader while the ICL cannot be reached', async () => {
    const { world } = await withLeader('Four.')
    world.api.getAssignment.mockReset()
    const statement = await world.leader('Four.')
    const unreachable = new SvcError('icl-unreachable', 'x', { hint: 'y', retryable: true })
    world.api.getAssignment.mockRejectedValueOnce(unreachable)
    world.api.getAssignment.mockRejectedValueOnce(new ProblemError('unavailable', 'x'))
    world.api.getAssignment.mockResolvedValue({ ...world.view, leader_statement: statement })
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
  })

  const endings = [
    ['the job settles', { phase: 'cancelled' as const }],
    ['its part lapses', { status: 'lapsed' as const }],
    ['it is offered again', { fence: 2 }],
  ] as const
  for (const [name, change] of endings) {
    it(`stops quietly when ${name}`, async () => {
      const world = await createJobWorld('verifier')
      world.api.getAssignment.mockResolvedValue({ ...world.view, ...change })
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toMatch(/^WARNING Job .* stopped: /)
    })
  }
})
