import { describe, expect, it, vi } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { signingKeyFromSeed, verifySignature } from '../../../lib/session-key.ts'
import { type NodeStatement, statementBytes, statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { checkDelivery } from '../../../node/jobs/check-delivery.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash, anAddress } from '../../branded.ts'
import { codeOf } from '../../code-of.ts'
import { jobId, nodeAddress, spareAddress, verifierAddresses } from '../fakes.ts'
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
  return { world, to_check, answer: to_check.answer.body, delivery: to_check.delivery.body }
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

    expect(order).toEqual(['slot free', 'commitAssignment', 'revealAnswer', 'postVerdict'])
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
    expect(world.api.abortTurn).not.toHaveBeenCalled()
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'answered' })
  })

  it('says one thing of each delivery, and the same bytes when it is asked again', async () => {
    const { world } = await withDelivery('Four.', 'Buy something instead.')
    const [turn] = world.turns
    world.turns.push(turn!, { ...turn!, to_check: await world.delivered('Four.') })
    await run(world)
    const [first, second, ...more] = world.api.postVerdict.mock.calls.map(([{ body }]) => body)
    expect(second).toEqual(first!)
    expect([first!.verdict, more]).toEqual(['no-match', []])
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*is the second of its node/)
    expect(world.journal.steps.filter(({ step }) => step === 'verdict')).toHaveLength(1)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'no-match' })
  })

  for (const [what, change] of [
    ['another answer', { answer: aHash(`0x${'77'.repeat(32)}`) }],
    ['another node', { address: spareAddress }],
    ['another assignment', { fence: 3 }],
  ] as const) {
    it(`judges no delivery of ${what} than it is shown`, async () => {
      const { world, to_check: shown, delivery } = await withDelivery('Five.')
      const to_check = {
        ...shown,
        delivery: { ...shown.delivery, body: { ...delivery, ...change } },
      }
      world.turns[0] = { ...world.turns[0]!, to_check }
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortTurn.mock.calls[0]![0].body.reason).toBe('node-failed')
      expect(world.log.lines.join('\n')).toMatch(/ERROR .*does not belong to the answer/)
    })
  }

  it('pays nothing for deliveries that no member of its list has signed, and gives each back', async () => {
    const { world, to_check, answer, delivery } = await withDelivery('Four.')
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(9))
    const forged = async <S extends NodeStatement>(body: S, session = to_check.answer.session) => ({
      body,
      signature: await key.sign(statementBytes(body)),
      session: { ...session, key: key.publicKey },
    })
    const of = async (change: Partial<typeof answer>) => {
      const body = { ...answer, ...change }
      const delivered = { ...delivery, address: body.address, answer: await statementHash(body) }
      return { answer: await forged(body), delivery: await forged(delivered) }
    }
    const cases = [
      [await of({ address: anAddress(`0x${'9'.repeat(40)}`) }), 'not on the list'],
      [await of({ list: aHash(`0x${'7'.repeat(64)}`) }), 'not on the list'],
      [await of({ model_id: 'openai:another' }), 'another model'],
      [await of({ evidence: { ...answer.evidence, comparator: 'similar/2' } }), 'no evidence'],
      [await of({}), 'is not signed by its node'],
      [{ ...to_check, answer: await forged(answer) }, 'is not signed by its node'],
    ] as const
    const reads = vi.spyOn(world.deps.blobs, 'download')
    world.turns.splice(
      0,
      1,
      ...cases.map(([to_check]) => ({ ...world.turns[0]!, to_check }) as (typeof world.turns)[0]),
    )
    const startedAt = world.clock.now()
    await run(world)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(reads.mock.calls.flat()).not.toContain(delivery.output_cid)
    expect(world.api.abortTurn.mock.calls.map(([{ body }]) => body.turn)).toEqual([...cases.keys()])
    for (const [, why] of cases) expect(world.log.lines.join('\n')).toContain(why)
    // An ICL that makes them up without end is asked again after a pause only.
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(2_000 * cases.length)
  })

  it('looks at no more deliveries than there are turns', async () => {
    const { world, to_check } = await withDelivery('Four.')
    const others = [spareAddress, ...verifierAddresses]
    const looked = new Map(others.map((by) => [by, aHash(`0x${'1'.repeat(64)}`)]))
    const look = () => codeOf(checkDelivery(world.deps, world.claim, looked, to_check))
    expect([world.claim.list.length, await look(), looked.size]).toEqual([
      4,
      'delivery-untrusted',
      3,
    ])
    looked.delete(spareAddress)
    expect([await look(), await look(), looked.size]).toEqual([undefined, undefined, 3])
  })

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

  for (const [code, retryable] of [
    ['coprocessor-unavailable', true],
    ['coprocessor-too-many-requests', true],
    ['coprocessor-permit-invalid', false],
  ] as const) {
    it(`blames no deliverer for its own ${code}`, async () => {
      const { world, delivery } = await withDelivery('Four.')
      const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
        if (handle !== delivery.outHighHandle) return await world.coprocessor.decrypt(handle)
        throw new SvcError(code, 'CoFHE decrypt failed: x', { hint: 'Wait.', retryable })
      }
      world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
      await run(world)
      expect(world.api.postVerdict).not.toHaveBeenCalled()
      expect(world.api.abortTurn.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
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
    expect(world.api.abortTurn.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
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
      expect(world.api.abortTurn).not.toHaveBeenCalled()
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
      expect(world.api.abortTurn).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toMatch(/^WARNING Job .* stopped: /)
    })
  }
})
