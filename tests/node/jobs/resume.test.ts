import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { resumeJob } from '../../../node/jobs/resume-job.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import type { JournalEntry } from '../../../node/journal/steps.ts'
import { jobId } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const never = new AbortController().signal

/** Runs the job up to its first call of `method`, where the daemon is killed; gives what its journal holds then. */
async function killedAt(
  world: JobWorld,
  method:
    | 'claimAssignment'
    | 'commitAssignment'
    | 'getAssignment'
    | 'postResult'
    | 'postVerdict'
    | 'complete',
  arrived = false,
  start: (world: JobWorld) => Promise<void> = ({ deps, assignment }) =>
    runJob(deps, assignment, never, steps),
): Promise<JournalEntry> {
  const place = method === 'complete' ? world : world.api
  const mock = (place as unknown as Record<string, JobWorld['complete']>)[method]!
  const original = mock.getMockImplementation()!
  const dead = Promise.withResolvers<JournalEntry>()
  mock.mockImplementation(async (...args) => {
    if (arrived) await original(...args)
    dead.resolve(world.journal.entry()!)
    return await new Promise<never>(() => {})
  })
  void start(world)
  const entry = await world.clock.until(dead.promise)
  mock.mockImplementation(original)
  return entry
}

const resume = (world: JobWorld, entry: JournalEntry) =>
  world.clock.until(resumeJob(world.deps, entry, never, steps))

const standing = (world: JobWorld, change: Partial<JobWorld['view']>) =>
  world.api.getAssignment.mockResolvedValue({
    ...world.view,
    deadline: world.view.server_time + 100,
    ...change,
  })

describe('a leader killed', () => {
  it('before its claim arrived claims and works', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'claimAssignment')
    standing(world, { status: 'offered' })
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.log.lines).toContain(`INFO Job ${jobId}: resuming as leader after a restart`)
    expect(world.log.lines.at(-1)).toBe(`INFO Job ${jobId}: Leader result accepted`)
    expect(world.journal.entry()).toBeUndefined()
  })

  it('during inference asks once more', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'complete')
    standing(world, { status: 'claimed' })
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(2)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
  })

  it('twice during inference does not ask a third time', async () => {
    const world = await createJobWorld('leader')
    const first = await killedAt(world, 'complete')
    standing(world, { status: 'claimed' })
    const entry = await killedAt(world, 'complete', false, ({ deps }) =>
      resumeJob(deps, first, never, steps),
    )
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(2)
    expect(world.api.abortAssignment.mock.calls.map(([{ body }]) => body)).toEqual([
      { jobId, fence: 1, reason: 'node-crashed' },
    ])
    expect(world.log.lines.at(-1)).toMatch(/ERROR .*the daemon ended twice while it ran/)
    expect(world.history.records.at(-1)).toMatchObject({
      outcome: 'aborted',
      reason: 'node-crashed',
    })
  })

  it('just before its result arrived sends the same bytes again', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'postResult')
    standing(world, { status: 'claimed' })
    await resume(world, entry)
    const [first, second] = world.api.postResult.mock.calls.map(([{ body }]) => body)
    expect(second).toEqual(first!)
    expect(JSON.stringify(second, bigintText)).toBe(JSON.stringify(first, bigintText))
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(world.chain.stored).toHaveLength(1)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
  })

  it('just after its result arrived sends nothing', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'postResult', true)
    standing(world, { status: 'done', phase: 'accepted' })
    await resume(world, entry)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
    expect(world.journal.entry()).toBeUndefined()
  })
})

const bigintText = (_: string, value: unknown) =>
  typeof value === 'bigint' ? value.toString() : value

describe('a verifier killed', () => {
  it('before its commitment arrived sends the same one, and goes on', async () => {
    const world = await createJobWorld('verifier')
    const statement = await world.leader('Four.')
    const entry = await killedAt(world, 'commitAssignment')
    world.api.getAssignment
      .mockResolvedValueOnce({
        ...world.view,
        status: 'claimed',
        deadline: world.view.server_time + 100,
      })
      .mockResolvedValue({ ...world.view, phase: 'running', leader_statement: statement })
    await resume(world, entry)
    const commitments = world.api.commitAssignment.mock.calls.map(([{ body }]) => body)
    expect(commitments).toHaveLength(2)
    expect(commitments[1]).toEqual(commitments[0]!)
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
    expect(world.complete).toHaveBeenCalledTimes(1)
  })

  for (const [answer, verdict] of [
    ['Four.', 'match'],
    ['Five.', 'no-match'],
  ] as const) {
    it(`after its commitment judges ${answer} by the evidence it kept, without asking again`, async () => {
      const world = await createJobWorld('verifier')
      const entry = await killedAt(world, 'getAssignment')
      standing(world, { phase: 'running', leader_statement: await world.leader(answer) })
      await resume(world, entry)
      expect(world.complete).toHaveBeenCalledTimes(1)
      expect(world.api.commitAssignment).toHaveBeenCalledTimes(1)
      expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe(verdict)
      expect(world.history.records.at(-1)).toMatchObject({ outcome: verdict })
    })
  }

  it('gives no verdict against a leader that it cannot check for want of the prompt key', async () => {
    const world = await createJobWorld('verifier')
    const entry = await killedAt(world, 'getAssignment')
    world.coprocessor.granted.delete(world.claim.kpHighHandle)
    standing(world, { phase: 'running', leader_statement: await world.leader('Four.') })
    await resume(world, entry)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(world.api.abortAssignment).toHaveBeenCalledTimes(1)
  })

  it('just before its verdict arrived sends the same bytes again', async () => {
    const world = await createJobWorld('verifier')
    standing(world, { phase: 'running', leader_statement: await world.leader('Four.') })
    const entry = await killedAt(world, 'postVerdict')
    await resume(world, entry)
    const [first, second] = world.api.postVerdict.mock.calls.map(([{ body }]) => body)
    expect(JSON.stringify(second)).toBe(JSON.stringify(first))
  })

  it('holds no slot while it sends its verdict again: its commitment had freed it', async () => {
    const world = await createJobWorld('verifier')
    standing(world, { phase: 'running', leader_statement: await world.leader('Four.') })
    const entry = await killedAt(world, 'postVerdict')
    const order: string[] = []
    world.api.postVerdict.mockImplementation(async () => {
      order.push('verdict')
      return { jobId, status: 'done', phase: 'running' }
    })
    const onSlotFree = () => void order.push('slot free')
    await world.clock.until(resumeJob(world.deps, entry, never, { ...steps, onSlotFree }))
    expect(order).toEqual(['slot free', 'verdict'])
  })
})

describe('a job that is resumed', () => {
  const endings = [
    ['offered again', { fence: 2 }, 'offered again'],
    ['lapsed', { status: 'lapsed' as const }, 'the assignment is lapsed'],
    ['settled', { status: 'claimed' as const, phase: 'cancelled' as const }, 'is cancelled'],
  ] as const
  for (const [name, change, words] of endings) {
    it(`is left with the reason when it was ${name} meanwhile`, async () => {
      const world = await createJobWorld('leader')
      const entry = await killedAt(world, 'complete')
      standing(world, change)
      await resume(world, entry)
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toContain(words)
      expect(world.history.records.at(-1)).toMatchObject({
        outcome: 'given-up',
        reason: expect.stringContaining(words),
      })
      expect(world.journal.entry()).toBeUndefined()
    })
  }

  it('is left when the ICL has forgotten it', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'complete')
    world.api.getAssignment.mockRejectedValue(new ProblemError('job-not-found', 'No such job'))
    await resume(world, entry)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'given-up' })
  })

  it('waits until the ICL can be reached', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'complete')
    const away = new SvcError('icl-unreachable', 'no', { hint: 'x', retryable: true })
    standing(world, { status: 'claimed' })
    world.api.getAssignment.mockRejectedValueOnce(away).mockRejectedValueOnce(away)
    const startedAt = world.clock.now()
    await resume(world, entry)
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(3_000)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
  })

  it('keeps to what is left of its lease', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'complete')
    const now = world.claim.server_time
    world.api.getAssignment.mockImplementation(async () => ({
      ...world.view,
      status: 'claimed',
      deadline: now + 30,
      server_time: Math.floor(world.clock.now() / 1000),
    }))
    world.api.claimAssignment.mockResolvedValue({
      ...world.claim,
      server_time: now,
      claimDeadline: now + 30,
    })
    world.complete.mockImplementation(({ signal }) =>
      world.clock.sleep(60_000, signal).then(() => 'late'),
    )
    const startedAt = world.clock.now()
    await resume(world, entry)
    expect(world.clock.now() - startedAt).toBe(28_000)
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('deadline-too-close')
  })
})

describe('the journal and the history', () => {
  it('have each step before its message is sent', async () => {
    const world = await createJobWorld('verifier')
    standing(world, { phase: 'running', leader_statement: await world.leader('Four.') })
    const seen: string[] = []
    const noted = () => world.journal.steps.map(({ step }) => step).join(' ')
    for (const method of ['claimAssignment', 'commitAssignment', 'postVerdict'] as const) {
      const mock = world.api[method] as JobWorld['api']['claimAssignment']
      const original = mock.getMockImplementation()!
      mock.mockImplementation((...args) => {
        seen.push(`${method}: ${noted()}`)
        return original(...args)
      })
    }
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    expect(seen).toEqual([
      'claimAssignment: started',
      'commitAssignment: started claimed asked committed',
      'postVerdict: started claimed asked committed verdict',
    ])
    expect(noted()).toMatch(/verdict ended$/)
    expect(world.history.records.map(({ outcome }) => outcome)).toEqual(['running', 'match'])
  })

  it('hold neither prompt nor answer nor keys', async () => {
    const world = await createJobWorld('leader', 'the secret answer')
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    const all = JSON.stringify([world.journal.steps, world.history.records], bigintText)
    const hex = Buffer.from(world.promptKey).toString('hex')
    const secrets = [world.prompt, 'the secret answer', hex, hex.slice(0, 32), hex.slice(32)]
    const decimals = [hex.slice(0, 32), hex.slice(32)].map((half) => BigInt(`0x${half}`).toString())
    for (const secret of [...secrets, ...decimals, Buffer.from(hex, 'hex').toString('base64url')]) {
      expect(all).not.toContain(secret)
    }
    expect(all).toContain(jobId)
  })

  for (const role of ['leader', 'verifier'] as const) {
    it(`keep a ${role} from signing twice for one assignment, though the ICL forgot and offers it anew`, async () => {
      const world = await createJobWorld(role)
      const statement = await world.leader('Four.')
      world.api.getAssignment.mockResolvedValue({ ...world.view, leader_statement: statement })
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      const records = world.history.records.length
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      const answers = [...world.api.postResult.mock.calls, ...world.api.postVerdict.mock.calls]
      expect(answers).toHaveLength(1)
      expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
      expect(world.complete).toHaveBeenCalledTimes(1)
      expect(world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)).toEqual([
        'signed-before',
      ])
      expect(world.log.lines.at(-1)).toMatch(/ERROR .*signed an answer to this very assignment/)
      // What became of the first one stays.
      expect(world.history.records).toHaveLength(records)

      const next = { ...world.assignment, fence: 2 }
      world.api.claimAssignment.mockResolvedValue({ ...world.claim, fence: 2 })
      world.api.getAssignment.mockResolvedValue({
        ...world.view,
        fence: 2,
        leader_statement: statement,
      })
      await world.clock.until(runJob(world.deps, next, never, steps))
      expect(world.complete).toHaveBeenCalledTimes(2)
    })
  }

  for (const role of ['leader', 'verifier'] as const) {
    it(`keep a ${role} from signing twice when the ICL offers the assignment anew while it is worked on`, async () => {
      const world = await createJobWorld(role)
      const statement = await world.leader('Four.')
      world.api.getAssignment.mockResolvedValue({ ...world.view, leader_statement: statement })
      const both = [1, 2].map(() => runJob(world.deps, world.assignment, never, steps))
      await world.clock.until(Promise.all(both))
      const answers = [...world.api.postResult.mock.calls, ...world.api.postVerdict.mock.calls]
      expect(answers).toHaveLength(1)
      expect(
        world.journal.steps.filter(({ step }) => /^(result|verdict)$/.test(step)),
      ).toHaveLength(1)
    })
  }

  it('keep a node from signing for an earlier assignment under the name of a new one', async () => {
    const world = await createJobWorld('leader')
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    // The ICL answers the claim of the second with the first.
    await world.clock.until(runJob(world.deps, { ...world.assignment, fence: 2 }, never, steps))
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(2)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(
      world.api.abortAssignment.mock.calls.map(([{ body }]) => [body.fence, body.reason]),
    ).toEqual([[2, 'key-handles-missing']])
  })

  it('a job that cannot be journalled is given back before it is claimed', async () => {
    const world = await createJobWorld('leader')
    const full = () => {
      throw new SvcError('journal-unwritable', 'the disk is full', { hint: 'Make room.' })
    }
    const deps = { ...world.deps, journal: { ...world.journal, note: full } }
    await world.clock.until(runJob(deps, world.assignment, never, steps))
    expect(world.api.claimAssignment).not.toHaveBeenCalled()
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('journal-unwritable')
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*the disk is full/)
  })

  it('a history that cannot be written fails no job', async () => {
    const world = await createJobWorld('leader')
    const append = () => {
      throw new Error('no room')
    }
    const deps = { ...world.deps, history: { append } }
    await world.clock.until(runJob(deps, world.assignment, never, steps))
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.log.lines.join('\n')).toMatch(/WARNING .*could not be recorded: no room/)
  })
})
