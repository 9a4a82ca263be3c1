import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import type { Acknowledged } from '../../../lib/schemas/assignments.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createIclKeys } from '../../../node/icl-keys.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash } from '../../branded.ts'
import { bytesOf, jobId, spareAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld) =>
  world.clock.until(runJob(world.deps, world.assignment, new AbortController().signal, steps))

type Body = Acknowledged['ack']['body']
const methods = ['commitAssignment', 'revealAnswer', 'postResult'] as const

/** Has the ICL sign something else than it should, so many times. */
function spoil(
  world: JobWorld,
  method: (typeof methods)[number],
  change: (body: Body) => Body,
  times = Number.POSITIVE_INFINITY,
  key = world.iclKey,
) {
  const mock = world.api[method] as JobWorld['api']['commitAssignment']
  const original = mock.getMockImplementation()!
  let spoilt = 0
  mock.mockImplementation(async (...args) => {
    const answer = await original(...args)
    if (++spoilt > times) return answer
    const body = change(answer.ack.body)
    const signature = await key.sign(statementBytes(body))
    return { ...answer, ack: { body, key: key.publicKey, signature } }
  })
}

const reasons = (world: JobWorld) =>
  world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)

describe('what the ICL acknowledges', () => {
  it('is kept: the commitment, the answer and the delivery as they were sent', async () => {
    const world = await createJobWorld('leader')
    await run(world)
    const hashes = world.acks.kept.map(({ body }) => [body.step, body.body_hash])
    expect(hashes).toEqual([
      ['commit', world.api.commitAssignment.mock.calls[0]![0].body.commitment],
      ['reveal', await statementHash(world.api.revealAnswer.mock.calls[0]![0].body)],
      ['result', await statementHash(world.api.postResult.mock.calls[0]![0].body)],
    ])
  })

  const changes: Record<string, (body: Body) => Body> = {
    'another step': (body) => ({ ...body, step: 'result' }),
    'another fence': (body) => ({ ...body, fence: 7 }),
    'another node': (body) => ({ ...body, address: spareAddress }),
    'another statement': (body) => ({ ...body, body_hash: aHash(`0x${'77'.repeat(32)}`) }),
  }
  for (const [what, change] of Object.entries(changes)) {
    it(`is no acknowledgement of ${what}`, async () => {
      const world = await createJobWorld('verifier')
      spoil(world, 'commitAssignment', change)
      await run(world)
      expect(world.api.commitAssignment).toHaveBeenCalledTimes(3)
      expect(reasons(world)).toEqual(['node-failed'])
      expect(world.log.lines.at(-1)).toMatch(
        /ERROR .*the acknowledgement of the ICL is about something else/,
      )
      expect(world.acks.kept).toEqual([])
    })
  }

  it('is no word of a key that it does not publish, nor of a wrong signature', async () => {
    const stranger = await signingKeyFromSeed(await bytesOf('stranger'))
    const world = await createJobWorld('verifier')
    spoil(world, 'revealAnswer', (body) => body, 9, stranger)
    await run(world)
    expect(world.log.lines.at(-1)).toMatch(/ERROR .*signed by a key that it does not publish/)

    const forged = await createJobWorld('verifier')
    const sign = stranger.sign
    spoil(forged, 'revealAnswer', (body) => body, 9, { ...forged.iclKey, sign })
    await run(forged)
    expect(forged.log.lines.at(-1)).toMatch(/ERROR .*has a wrong signature/)
  })

  for (const method of methods) {
    it(`is asked for again when an answer to ${method} has a wrong one`, async () => {
      const world = await createJobWorld('leader')
      spoil(world, method, (body) => ({ ...body, fence: 7 }), 1)
      await run(world)
      expect(reasons(world)).toEqual([])
      const bodies = world.api[method].mock.calls.map(([{ body }]) => body)
      expect(bodies).toHaveLength(2)
      expect(bodies[1]).toEqual(bodies[0]!)
      expect(world.log.lines.join('\n')).toMatch(/WARNING .*did not acknowledge .*trying again/)
      expect(world.acks.kept).toHaveLength(3)
    })
  }

  it('is asked for again when an answer has none', async () => {
    const world = await createJobWorld('verifier')
    const none = new SvcError('icl-unexpected-answer', 'another form', { hint: '' })
    world.api.commitAssignment.mockRejectedValueOnce(none)
    await run(world)
    expect(reasons(world)).toEqual([])
    expect(world.acks.kept).toHaveLength(2)
  })

  it('costs no job when it cannot be written down', async () => {
    const world = await createJobWorld('verifier')
    const keep = () => {
      throw new Error('no room')
    }
    world.deps = { ...world.deps, acks: { keep } }
    await run(world)
    expect(reasons(world)).toEqual([])
    expect(world.log.lines).toContain(`WARNING Job ${jobId}: could not be recorded: no room`)
  })
})

it('the keys of the ICL are asked for once, and again for a key that is new', async () => {
  let asked = 0
  const published = ['a']
  const keys = createIclKeys({
    getJwks: async () => {
      asked += 1
      const base = { kty: 'OKP', crv: 'X', kid: '1', alg: 'EdDSA', use: 'sig' } as const
      return { keys: published.map((x) => ({ ...base, x })) }
    },
  })
  expect([await keys.has('a'), await keys.has('a'), asked]).toEqual([true, true, 1])
  published.push('b')
  expect([await keys.has('b'), await keys.has('c'), asked]).toEqual([true, false, 3])
})

describe('an acknowledgement that was lost on its way', () => {
  const away = () => new SvcError('icl-unreachable', 'cut off', { hint: '', retryable: true })

  /** The ICL takes what is posted, and its responses are lost so many times. */
  function lose(world: JobWorld, method: (typeof methods)[number], times: number) {
    const mock = world.api[method] as JobWorld['api']['commitAssignment']
    const original = mock.getMockImplementation()!
    let lost = 0
    mock.mockImplementation(async (...args) => {
      const answer = await original(...args)
      if (++lost <= times) throw away()
      return answer
    })
  }
  const bodiesOf = (world: JobWorld, method: (typeof methods)[number]) =>
    world.api[method].mock.calls.map(([{ body }]) => body as unknown)

  it.each(methods)('is asked for again by the same bytes: %s', async (method) => {
    const world = await createJobWorld('leader')
    lose(world, method, 1)
    await run(world)
    expect(new Set(world.acks.kept.map(({ body }) => body.step))).toEqual(
      new Set(['commit', 'reveal', 'result']),
    )
    const [first, second, ...more] = bodiesOf(world, method)
    expect([second, more]).toEqual([first, []])
    expect(world.api.abortAssignment).not.toHaveBeenCalled()
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
  })

  it('is not asked for without end, nor after a refusal', async () => {
    const world = await createJobWorld('leader')
    lose(world, 'revealAnswer', Number.POSITIVE_INFINITY)
    await run(world)
    expect(bodiesOf(world, 'revealAnswer').length).toBeLessThan(6)
    const refused = await createJobWorld('leader')
    lose(refused, 'commitAssignment', 1)
    const take = refused.api.commitAssignment.getMockImplementation()!
    refused.api.commitAssignment.mockImplementation(async (...args) => {
      if (bodiesOf(refused, 'commitAssignment').length < 2) return await take(...args)
      throw new ProblemError('stale-fence', 'given to another')
    })
    await run(refused)
    expect(bodiesOf(refused, 'commitAssignment')).toHaveLength(2)
    expect(refused.acks.kept.map(({ body }) => body.step)).toEqual(['reveal', 'result'])
  })
})
