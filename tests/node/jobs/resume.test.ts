import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { commitmentOf } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { resumeJob } from '../../../node/jobs/resume-job.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import type { JournalEntry } from '../../../node/journal/steps.ts'
import { jobId, nodeAddress } from '../fakes.ts'
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
    | 'revealAnswer'
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

describe('a node killed', () => {
  it('before its claim arrived claims and works', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'claimAssignment')
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.log.lines).toContain(`INFO Job ${jobId}: resuming as leader after a restart`)
    expect(world.log.lines).toContain(`INFO Job ${jobId}: Leader result accepted`)
    expect(world.journal.entry()).toBeUndefined()
  })

  it('has recorded at once what each answer took', async () => {
    const world = await createJobWorld('leader')
    const usage = { input_tokens: 7, output_tokens: 2 }
    world.complete.mockImplementation(async ({ onUsage }) => {
      onUsage?.(usage)
      return 'Four.'
    })
    const entry = await killedAt(world, 'commitAssignment')
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'running', usage })
    await resume(world, entry)
    expect(world.history.records.filter((record) => record.usage !== undefined)).toHaveLength(1)
  })

  it('during inference asks once more', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'complete')
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(2)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
  })

  it('twice during inference does not ask a third time', async () => {
    const world = await createJobWorld('leader')
    const first = await killedAt(world, 'complete')
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

  it('before its commitment arrived sends the same one, and continues', async () => {
    const world = await createJobWorld('verifier')
    world.turns.push({ step: 'check', to_check: await world.delivered('Four.') })
    const entry = await killedAt(world, 'commitAssignment')
    await resume(world, entry)
    const [first, second] = bodiesOf(world.api.commitAssignment)
    expect(second).toEqual(first!)
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
    expect(world.complete).toHaveBeenCalledTimes(1)
  })

  it('after its commitment opens it from the journal, without asking the model again', async () => {
    const world = await createJobWorld('verifier')
    const entry = await killedAt(world, 'getAssignment')
    await resume(world, entry)
    expect(world.complete).toHaveBeenCalledTimes(1)
    // Whether its acknowledgement came is not known.
    const [first, ...again] = bodiesOf(world.api.commitAssignment)
    expect(again).toEqual([first!])
    const { evidence, ended, usage, salt } = world.api.revealAnswer.mock.calls[0]![0].body
    expect([ended, usage]).toEqual(['stop', { input_tokens: 11, output_tokens: 2 }])
    expect(world.api.commitAssignment.mock.calls[0]![0].body.commitment).toBe(
      await commitmentOf({ jobId, address: nodeAddress, fence: 1, evidence, salt }),
    )
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'answered' })
  })

  for (const arrived of [false, true]) {
    it(`just ${arrived ? 'after' : 'before'} its answer arrived signs no other`, async () => {
      const world = await createJobWorld('verifier')
      const entry = await killedAt(world, 'revealAnswer', arrived)
      await resume(world, entry)
      const bodies = bodiesOf(world.api.revealAnswer)
      expect(bodies).toHaveLength(2)
      expect(bodies.at(-1)).toEqual(bodies[0]!)
      expect(world.journal.steps.filter(({ step }) => step === 'answer')).toHaveLength(1)
    })
  }
})

describe('a deliverer killed', () => {
  it('before it signed a delivery gives that back, for its text is gone, and checks the next', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'revealAnswer')
    world.turns.push({ step: 'check', to_check: await world.delivered('Four.') })
    await resume(world, entry)
    expect(bodiesOf(world.api.abortTurn)).toMatchObject([
      { jobId, fence: 1, turn: 0, reason: 'answer-lost' },
    ])
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*the text of the answer was lost/)
    expect(world.chain.stored).toEqual([])
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'match' })
  })

  it('just before its delivery arrived sends the same bytes again', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'postResult')
    await resume(world, entry)
    const [first, second] = bodiesOf(world.api.postResult)
    expect(second).toEqual(first!)
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(world.chain.stored).toHaveLength(1)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
  })

  it('just after its delivery arrived sends the same bytes again, for the acknowledgement', async () => {
    const world = await createJobWorld('leader')
    const entry = await killedAt(world, 'postResult', true)
    await resume(world, entry)
    const [first, ...again] = bodiesOf(world.api.postResult)
    expect(again).toEqual([first!])
    expect(world.acks.kept.at(-1)?.body.step).toBe('result')
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
    expect(world.journal.entry()).toBeUndefined()
  })
})

const bigintText = (_: string, value: unknown) =>
  typeof value === 'bigint' ? value.toString() : value

const bodiesOf = <B>({
  mock,
}: {
  readonly mock: { readonly calls: readonly [{ readonly body: B }, ...unknown[]][] }
}): readonly B[] => mock.calls.map(([{ body }]) => body)

describe('a checker killed', () => {
  const checking = async (text: string) => {
    const world = await createJobWorld('verifier')
    world.turns.push({ step: 'check', to_check: await world.delivered(text) })
    return world
  }

  for (const [answer, verdict] of [
    ['Four.', 'match'],
    ['Five.', 'no-match'],
  ] as const) {
    it(`before its verdict judges ${answer} by the evidence it kept`, async () => {
      const world = await checking(answer)
      const entry = await killedAt(world, 'revealAnswer', true)
      await resume(world, entry)
      expect(world.complete).toHaveBeenCalledTimes(1)
      expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe(verdict)
      expect(world.history.records.at(-1)).toMatchObject({ outcome: verdict })
    })
  }

  it('judges by the answer that it signed, not by a commitment that an ICL had it note besides', async () => {
    const world = await checking('Four.')
    const entry = await killedAt(world, 'revealAnswer', true)
    const { answer } = await world.delivered('Five.')
    const committed = { ...entry.committed!, evidence: answer.body.evidence }
    await resume(world, { ...entry, committed })
    // The ICL could prove a verdict false that the signed answer refutes, and take the stake.
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
  })

  it('gives no verdict on an output that it cannot check for want of the prompt key', async () => {
    const world = await checking('Four.')
    const entry = await killedAt(world, 'getAssignment')
    world.coprocessor.granted.delete(world.claim.kpHighHandle)
    await resume(world, entry)
    expect(world.api.postVerdict).not.toHaveBeenCalled()
    expect(world.api.abortTurn).toHaveBeenCalledTimes(1)
  })

  it('just before its verdict arrived sends the same bytes again', async () => {
    const world = await checking('Four.')
    const entry = await killedAt(world, 'postVerdict')
    await resume(world, entry)
    const [first, second] = bodiesOf(world.api.postVerdict)
    expect(second).toEqual(first!)
  })

  it('holds no slot while it sends its verdict again: its commitment had freed it', async () => {
    const world = await checking('Four.')
    const entry = await killedAt(world, 'postVerdict')
    const order: string[] = []
    const taken = world.api.postVerdict.getMockImplementation()!
    world.api.postVerdict.mockImplementation((...args) => {
      order.push('verdict')
      return taken(...args)
    })
    const onSlotFree = () => void order.push('slot free')
    await world.clock.until(resumeJob(world.deps, entry, never, { ...steps, onSlotFree }))
    expect(order).toEqual(['slot free', 'verdict'])
  })
})

describe('a job that is resumed', () => {
  const endings = [
    ['offered again', { fence: 2 }, 'offered again'],
    ['lapsed', { status: 'lapsed' as const, step: 'over' as const }, 'the assignment is lapsed'],
    ['settled', { status: 'claimed' as const, phase: 'cancelled' as const }, 'is cancelled'],
  ] as const
  for (const [name, change, words] of endings) {
    it(`is left with the reason when it was ${name} meanwhile`, async () => {
      const world = await createJobWorld('leader')
      const entry = await killedAt(world, 'complete')
      world.api.getAssignment.mockResolvedValue({ ...world.view, ...change })
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
    const seen: string[] = []
    for (const role of ['leader', 'verifier'] as const) {
      const world = await createJobWorld(role)
      const to_check = await world.delivered('Four.')
      if (role === 'verifier') world.turns.push({ step: 'check', to_check })
      const noted = () => world.journal.steps.map(({ step }) => step).join(' ')
      for (const method of [
        'claimAssignment',
        'commitAssignment',
        'revealAnswer',
        'postResult',
        'postVerdict',
      ] as const) {
        const mock = world.api[method] as JobWorld['api']['claimAssignment']
        const original = mock.getMockImplementation()!
        mock.mockImplementation((...args) => {
          seen.push(`${method}: ${noted()}`)
          return original(...args)
        })
      }
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      expect(noted()).toMatch(/(delivery|verdict) ended$/)
    }
    const before = [
      'claimAssignment: started',
      'commitAssignment: started claimed asked committed',
      'revealAnswer: started claimed asked committed answer',
    ]
    expect(seen).toEqual([
      ...[...before, 'postResult: started claimed asked committed answer delivery'],
      ...[...before, 'postVerdict: started claimed asked committed answer verdict'],
    ])
  })

  it('hold neither prompt nor answer nor keys', async () => {
    const world = await createJobWorld('leader', 'the secret answer')
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    const all = JSON.stringify([world.journal.steps, world.history.records], bigintText)
    const hex = Buffer.from(world.promptKey).toString('hex')
    const job = Buffer.from(world.secret).toString('hex')
    const secrets = [world.prompt, 'the secret answer', hex, hex.slice(0, 32), hex.slice(32), job]
    const decimals = [hex.slice(0, 32), hex.slice(32)].map((half) => BigInt(`0x${half}`).toString())
    for (const secret of [...secrets, ...decimals, Buffer.from(hex, 'hex').toString('base64url')]) {
      expect(all).not.toContain(secret)
    }
    expect(all).toContain(jobId)
  })

  const turnsOf = async (role: 'leader' | 'verifier') => {
    const world = await createJobWorld(role)
    const to_check = await world.delivered('Four.')
    if (role === 'verifier') world.turns.push({ step: 'check', to_check })
    return world
  }
  const signedIn = (world: JobWorld) =>
    world.journal.steps.filter(({ step }) => /^(answer|delivery|verdict)$/.test(step))

  for (const role of ['leader', 'verifier'] as const) {
    it(`keep a ${role} from signing twice for one assignment, though the ICL forgot and offers it anew`, async () => {
      const world = await turnsOf(role)
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      const records = world.history.records.length
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      expect(signedIn(world)).toHaveLength(2)
      expect(world.api.revealAnswer).toHaveBeenCalledTimes(1)
      expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
      expect(world.complete).toHaveBeenCalledTimes(1)
      expect(bodiesOf(world.api.abortAssignment).map(({ reason }) => reason)).toEqual([
        'signed-before',
      ])
      expect(world.log.lines.at(-1)).toMatch(/ERROR .*signed an answer to this very assignment/)
      // What became of the first one stays.
      expect(world.history.records).toHaveLength(records)

      const next = { ...world.assignment, fence: 2 }
      world.api.claimAssignment.mockResolvedValue({ ...world.claim, fence: 2 })
      await world.clock.until(runJob(world.deps, next, never, steps))
      expect(world.complete).toHaveBeenCalledTimes(2)
    })

    it(`keep a ${role} from signing twice when the ICL offers the assignment anew while it is worked on`, async () => {
      const world = await turnsOf(role)
      const both = [1, 2].map(() => runJob(world.deps, world.assignment, never, steps))
      await world.clock.until(Promise.all(both))
      const kinds = signedIn(world).map(({ step }) => step)
      expect(kinds).toEqual([...new Set(kinds)])
      expect(kinds[0]).toBe('answer')
    })
  }

  it('keep a node from signing for an earlier assignment under the name of a new one', async () => {
    const world = await createJobWorld('leader')
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    // The ICL answers the claim of the second with the first.
    await world.clock.until(runJob(world.deps, { ...world.assignment, fence: 2 }, never, steps))
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(2)
    expect(world.api.revealAnswer).toHaveBeenCalledTimes(1)
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
