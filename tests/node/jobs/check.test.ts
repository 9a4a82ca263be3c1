import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash } from '../../branded.ts'
import { jobId, nodeAddress, spareAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const run = (world: JobWorld, onSlotFree = () => {}) =>
  world.clock.until(
    runJob(world.deps, world.assignment, new AbortController().signal, {
      onClaimed: () => {},
      onSlotFree,
    }),
  )

/** A node of which another answered `text` and delivered `shown`, with so much time to check it. */
async function withDelivery(text: string, shown = text, secondsLeft = 60) {
  const world = await createJobWorld('verifier')
  const to_check = await world.delivered(text, shown)
  world.turns.push({
    ...{ step: 'check', to_check },
    deadline: world.view.server_time + secondsLeft,
  })
  return { world, ...to_check }
}

const verdictOf = (world: JobWorld) => world.api.postVerdict.mock.calls[0]![0].body

describe('a checker', () => {
  it('commits, reveals, and says match of the answer that it has itself', async () => {
    const { world, answer, delivery } = await withDelivery('Four.')
    const order: string[] = []
    for (const method of ['commitAssignment', 'revealAnswer', 'postVerdict'] as const) {
      const mock = world.api[method] as JobWorld['api']['postVerdict']
      const original = mock.getMockImplementation()!
      mock.mockImplementation((...args) => {
        order.push(method)
        return original(...args)
      })
    }
    await run(world, () => order.push('slot free'))

    expect(order).toEqual(['commitAssignment', 'slot free', 'revealAnswer', 'postVerdict'])
    const { signature, ...verdict } = verdictOf(world)
    const own = world.api.revealAnswer.mock.calls[0]![0].body
    expect(verdict).toEqual({
      ...{ statement: 'svc-verdict-v2', jobId, address: nodeAddress, fence: 1, verdict: 'match' },
      answer: await statementHash(own),
      delivery: await statementHash(delivery),
    })
    expect(own.evidence).toEqual(answer.evidence)
    const { publicKey } = world.deps.sessionKey
    expect(await verifySignature(publicKey, signature, statementBytes(verdict))).toBe(true)
    expect(world.log.lines).toContain(`INFO Job ${jobId}: Verdict: match`)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'match' })
    expect(world.chain.stored).toEqual([])
  })

  it('says by the evidence alone that its answer differs, whatever it is asked for', async () => {
    for (const step of ['check', 'differ'] as const) {
      const { world, delivery } = await withDelivery('Five.')
      world.turns[0] = { ...world.turns[0]!, step }
      world.blobs.blobs.delete(delivery.output_cid)
      await run(world)
      expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'different-answer' })
      expect(world.log.lines.join('\n')).toContain('Verdict: no-match')
    }
  })

  it('says nothing of a delivery that it is to differ from and does not', async () => {
    const { world } = await withDelivery('Four.')
    world.turns[0] = { ...world.turns[0]!, step: 'differ' }
    void world.clock.sleep(30_000).then(() => world.turns.splice(0))
    await run(world)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(world.api.abortAssignment).not.toHaveBeenCalled()
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'answered' })
  })

  it('says one thing of each delivery, and the same bytes when it is asked again', async () => {
    const { world } = await withDelivery('Four.', 'Buy something instead.')
    const [turn] = world.turns
    world.turns.push(turn!, { ...turn!, to_check: await world.delivered('Four.') })
    await run(world)
    const [first, second, third] = world.api.postVerdict.mock.calls.map(([{ body }]) => body)
    expect(second).toEqual(first!)
    expect([first!.verdict, third!.verdict]).toEqual(['no-match', 'match'])
    expect(first!.delivery).not.toBe(third!.delivery)
    expect(world.journal.steps.filter(({ step }) => step === 'verdict')).toHaveLength(2)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'match' })
  })

  for (const [what, change] of [
    ['another answer', { answer: aHash(`0x${'77'.repeat(32)}`) }],
    ['another node', { address: spareAddress }],
    ['another assignment', { fence: 3 }],
  ] as const) {
    it(`judges no delivery of ${what} than it is shown`, async () => {
      const { world, answer, delivery } = await withDelivery('Five.')
      const to_check = { answer, delivery: { ...delivery, ...change } }
      world.turns[0] = { ...world.turns[0]!, to_check }
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('node-failed')
      expect(world.log.lines.join('\n')).toMatch(/ERROR .*does not belong to the answer/)
    })
  }

  it('says no-match when the output is not what the evidence claims', async () => {
    const { world } = await withDelivery('Four.', 'Buy something instead.')
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-mismatch' })
  })

  it('says no-match when the output cannot be unsealed', async () => {
    const { world, delivery } = await withDelivery('Four.')
    world.blobs.blobs.set(delivery.output_cid, new Uint8Array(64).fill(1))
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-mismatch' })
  })

  it('says no-match when the output cannot be had', async () => {
    const { world, delivery } = await withDelivery('Four.')
    world.blobs.blobs.delete(delivery.output_cid)
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-unavailable' })
  })

  it('says no-match when the output key stays unreadable, after waiting for a grant', async () => {
    const { world, delivery } = await withDelivery('Four.')
    world.coprocessor.granted.delete(delivery.outHighHandle)
    const startedAt = world.clock.now()
    await run(world)
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(20_000)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-unavailable' })
  })

  it('comes back to an output that a gateway could not give for some seconds', async () => {
    const { world } = await withDelivery('Four.')
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
    it(`blames no deliverer for its own ${code}`, async () => {
      const { world, delivery } = await withDelivery('Four.')
      const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
        if (handle !== delivery.outHighHandle) return await world.coprocessor.decrypt(handle)
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
    const { world } = await withDelivery('Four.')
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
    const { world } = await withDelivery('Four.')
    const { clock } = world
    let setBackMs = 0
    world.deps = { ...world.deps, clock: { ...clock, now: () => clock.now() - setBackMs } }
    let waits = 0
    world.api.getAssignment.mockImplementation(async () => {
      if (world.look().step !== 'check' || ++waits > 1) return world.look()
      setBackMs = 3_600_000
      return { ...world.look(), step: 'wait' }
    })
    const startedAt = clock.now()
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
    expect(clock.now() - startedAt).toBeLessThan(60_000)
  })

  for (const hours of [-2, 2]) {
    it(`has the time that the ICL gives, with its own clock ${hours} h off`, async () => {
      const { world, delivery } = await withDelivery('Four.')
      const now = Math.floor(world.clock.now() / 1000) + hours * 3_600
      world.coprocessor.granted.delete(delivery.outHighHandle)
      world.turns[0] = { ...world.turns[0]!, server_time: now, deadline: now + 25 }
      const startedAt = world.clock.now()
      await run(world)
      expect(world.clock.now() - startedAt).toBe(15_000)
      expect(verdictOf(world)).toMatchObject({ reason: 'output-unavailable' })
    })
  }

  it('tries with what is left when it comes late', async () => {
    const { world } = await withDelivery('Four.', 'Four.', 5)
    const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
      await world.clock.sleep(1_500)
      return await world.coprocessor.decrypt(handle)
    }
    world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
  })

  it('gives no verdict against a deliverer whose output it had no time to read', async () => {
    const { world, delivery } = await withDelivery('Four.', 'Four.', 5)
    world.coprocessor.granted.delete(delivery.outHighHandle)
    await run(world)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*could not be checked in time/)
  })

  it('goes on waiting while the ICL cannot be reached', async () => {
    const { world } = await withDelivery('Four.')
    const unreachable = new SvcError('icl-unreachable', 'x', { hint: 'y', retryable: true })
    world.api.getAssignment.mockRejectedValueOnce(unreachable)
    world.api.getAssignment.mockRejectedValueOnce(new ProblemError('unavailable', 'x'))
    await run(world)
    expect(verdictOf(world).verdict).toBe('match')
  })

  it('sends its verdict again, the same bytes, when the ICL was away', async () => {
    const { world } = await withDelivery('Four.')
    const { postVerdict } = world.api
    const taken = postVerdict.getMockImplementation()!
    const away = new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })
    postVerdict.mockRejectedValueOnce(away).mockImplementation(taken)
    await run(world)
    const bodies = postVerdict.mock.calls.map(([{ body }]) => body)
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0]!)
  })

  for (const code of ['already-answered', 'job-settled', 'not-your-turn'] as const) {
    it(`asks for the next step when its verdict comes too late (${code})`, async () => {
      const { world } = await withDelivery('Four.')
      world.api.postVerdict.mockImplementation(async () => {
        world.turns.length = 0
        throw new ProblemError(code, 'too late')
      })
      await run(world)
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toBe(`INFO Job ${jobId}: over: the job is accepted`)
    })
  }

  const endings = [
    ['the job settles', { phase: 'cancelled' as const }],
    ['its part lapses', { status: 'lapsed' as const, step: 'over' as const }],
    ['it is offered again', { fence: 2 }],
  ] as const
  for (const [name, change] of endings) {
    it(`stops quietly when ${name}`, async () => {
      const world = await createJobWorld('verifier')
      world.api.getAssignment.mockResolvedValue({ ...world.view, step: 'wait', ...change })
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toMatch(/^WARNING Job .* stopped: /)
    })
  }
})
