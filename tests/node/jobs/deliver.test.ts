import { describe, expect, it, vi } from 'vitest'
import { exact } from '../../../lib/comparators/exact.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { openOutput } from '../../../lib/sealing/output.ts'
import { joinKey } from '../../../lib/sealing.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import { commitmentOf, statementBytes, statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash } from '../../branded.ts'
import { jobId, modelId, nodeAddress, storeCosts } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const ignored = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld, signal = new AbortController().signal) =>
  world.clock.until(runJob(world.deps, world.assignment, signal, ignored))

const abortsWith = (world: JobWorld, reason: string) =>
  expect(world.api.abortAssignment.mock.calls.map(([{ body }]) => body)).toEqual([
    { jobId, fence: 1, reason },
  ])

/** Its own word, signed: that it gives its turn back. */
async function turnAbortsWith(world: JobWorld, reason: string) {
  const bodies = world.api.abortTurn.mock.calls.map(([{ body }]) => body)
  const statement = 'svc-abort-v2'
  expect(bodies).toMatchObject([
    { statement, jobId, address: nodeAddress, fence: 1, turn: 0, reason },
  ])
  const { signature, ...body } = bodies[0]!
  const { publicKey } = world.deps.sessionKey
  expect(await verifySignature(publicKey, signature, statementBytes(body))).toBe(true)
}

describe('a deliverer', () => {
  it('answers, commits, reveals, seals, stores the key, uploads and posts a signed delivery', async () => {
    const world = await createJobWorld('leader')
    await run(world)

    const [{ body: answer }] = world.api.revealAnswer.mock.calls[0]!
    const [{ body: result }] = world.api.postResult.mock.calls[0]!
    expect(world.complete.mock.calls[0]![0].prompt).toEqual(promptOfText(world.prompt))
    expect(world.complete.mock.calls[0]![0].model).toBe('test-model')
    expect(answer.evidence).toEqual(
      await exact.evidenceOf({
        text: 'Four.',
        prompt: world.prompt,
        key: await evidenceKeyOf(world.secret, jobId),
      }),
    )
    const [stored] = world.chain.stored
    const { kpHighHandle: promptHigh, activator, until, list } = world.claim
    expect(stored).toMatchObject({ promptHigh, jobId, activator, until, list, self: 0 })
    expect(stored?.checkers).toEqual([1, 2])

    world.coprocessor.granted.add(result.outHighHandle).add(result.outLowHandle)
    const outputKey = joinKey({
      high: await world.coprocessor.decrypt(result.outHighHandle),
      low: await world.coprocessor.decrypt(result.outLowHandle),
    })
    const blob = await world.blobs.download(result.output_cid)
    const { secret } = world
    expect(await openOutput(blob, { jobId, fence: 1, key: outputKey, secret })).toBe('Four.')

    const [{ query: seat }] = world.api.putBlob.mock.calls[0]!
    expect(seat).toEqual({ jobId, fence: world.claim.fence })

    expect(answer).toMatchObject({ address: nodeAddress, fence: 1, position: 0, model_id: modelId })
    expect(answer.list).toBe(listCommitment(world.claim))
    const { evidence, salt } = answer
    expect(world.api.commitAssignment.mock.calls[0]![0].body.commitment).toBe(
      await commitmentOf({ jobId, address: nodeAddress, fence: 1, evidence, salt }),
    )
    expect(result).toMatchObject({ address: nodeAddress, answer: await statementHash(answer) })
    const { publicKey } = world.deps.sessionKey
    for (const { signature, ...statement } of [answer, result]) {
      expect(await verifySignature(publicKey, signature, statementBytes(statement))).toBe(true)
    }
    expect(world.acks.kept.map(({ body }) => body.step)).toEqual(['commit', 'reveal', 'result'])
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
    expect(world.api.abortAssignment).not.toHaveBeenCalled()
  })

  it('uploads nothing before the chain has confirmed the stored key', async () => {
    const world = await createJobWorld('leader')
    const { putBlob } = world.api
    const storeOutputKey: JobWorld['chain']['storeOutputKey'] = async (key) => {
      await world.clock.sleep(12_000)
      expect(putBlob).not.toHaveBeenCalled()
      return await world.chain.storeOutputKey(key)
    }
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
    await run(world)
    expect(putBlob).toHaveBeenCalledTimes(1)
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'result-posted' })
  })

  it('shows at DEBUG what it decrypts, without the halves, and what storing the key took', async () => {
    const world = await createJobWorld('leader')
    await run(world)
    const debug = world.log.lines.filter((line) => line.startsWith('DEBUG'))
    const hex = (handle: bigint) => aHash(`0x${handle.toString(16).padStart(64, '0')}`)
    for (const handle of [world.claim.kpHighHandle, world.claim.kpLowHandle]) {
      expect(debug).toContain(
        `DEBUG Job ${jobId}: decrypting handle ${hex(handle)} with the permit`,
      )
      expect(debug.filter((line) => line.includes(`decrypted handle ${hex(handle)} in `))).toEqual([
        expect.stringMatching(/ms: \[secret, 16 bytes\]$/),
      ])
    }
    const [{ body: result }] = world.api.postResult.mock.calls[0]!
    expect(debug).toContain(
      `DEBUG Job ${jobId}: storeKey: transaction ${storeCosts.txHash}, gas used ${storeCosts.gasUsed}, ` +
        `handles ${hex(result.outHighHandle)}, ${hex(result.outLowHandle)}`,
    )
  })

  it('shows prompt and output at DEBUG only, and keys nowhere', async () => {
    const world = await createJobWorld('leader', 'the secret answer')
    await run(world)
    const above = world.log.lines.filter((line) => !line.startsWith('DEBUG')).join('\n')
    expect(above).not.toContain(world.prompt)
    expect(above).not.toContain('the secret answer')
    const all = world.log.lines.join('\n')
    expect(all).toContain(world.prompt)
    const hex = Buffer.from(world.secret).toString('hex')
    expect(all).not.toContain(hex)
    expect(all).not.toContain(hex.slice(0, 32))
    expect(all).not.toContain(BigInt(`0x${hex.slice(0, 32)}`).toString())
  })

  it.each([
    ['short', 'Two?', /slow inference, 31\.0 s$/m],
    [
      'long',
      'Two? '.repeat(4_000),
      /slow inference, 31\.0 s\. Prompts above about 4k tokens are slower$/m,
    ],
  ])('warns of a slow inference of a %s prompt', async (_, text, warning) => {
    const world = await createJobWorld('leader', 'Four.', { document: promptOfText(text) })
    world.complete.mockImplementation(async () => {
      await world.clock.sleep(31_000)
      return 'Four.'
    })
    await run(world)
    expect(world.log.lines.join('\n')).toMatch(warning)
    expect(world.api.postResult).toHaveBeenCalled()
  })
})

describe('a job that cannot be done is given back', () => {
  it('when the claim fails', async () => {
    const world = await createJobWorld('leader')
    world.api.claimAssignment.mockRejectedValue(
      new ProblemError('internal-error', 'The ICL failed'),
    )
    await run(world)
    abortsWith(world, 'key-handles-missing')
    expect(world.log.lines.join('\n')).toMatch(/WARNING Job 0x1+: claim failed/)
  })

  it('when decryption stays denied, but only after it had time to be granted', async () => {
    const world = await createJobWorld('leader')
    world.coprocessor.granted.clear()
    const startedAt = world.clock.now()
    await run(world)
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(8_000)
    abortsWith(world, 'fhe-decrypt-denied')
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*CoFHE decrypt failed/)
  })

  it('not when the grant arrives meanwhile', async () => {
    const world = await createJobWorld('leader')
    world.coprocessor.granted.clear()
    void world.clock.sleep(3_000).then(() => {
      world.coprocessor.granted.add(world.claim.kpHighHandle).add(world.claim.kpLowHandle)
    })
    await run(world)
    expect(world.api.postResult).toHaveBeenCalled()
    expect(world.log.lines.join('\n')).toMatch(/WARNING .*CoFHE decrypt failed.*trying again/)
  })

  it('when the blob store keeps other bytes than it was given', async () => {
    const world = await createJobWorld('leader')
    world.api.putBlob.mockResolvedValue({ cid: world.claim.prompt_cid })
    await run(world)
    await turnAbortsWith(world, 'output-upload-failed')
  })

  it('when the claim deadline comes first', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockImplementation(({ signal }) =>
      world.clock.sleep(300_000, signal).then(() => 'late'),
    )
    const startedAt = world.clock.now()
    await run(world)
    expect(world.clock.now() - startedAt).toBe(118_000)
    abortsWith(world, 'deadline-too-close')
  })

  it('when the deadline that the ICL has moved comes, and not before', async () => {
    const world = await createJobWorld('leader')
    const startedAt = world.clock.now()
    world.complete.mockImplementation(({ signal }) =>
      world.clock.sleep(900_000, signal).then(() => 'late'),
    )
    // It is away for 280 s in all, and adds them.
    world.api.getAssignment.mockImplementation(async () => {
      const passed = world.clock.now() - startedAt
      if (passed < 300_000) {
        throw new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })
      }
      const { view } = world
      const server_time = view.server_time + Math.floor(passed / 1000)
      const deadline = view.server_time + 120 + 280
      return { ...view, status: 'claimed', server_time, deadline }
    })
    await run(world)
    expect(Math.round((world.clock.now() - startedAt) / 10_000)).toBe(40)
    abortsWith(world, 'deadline-too-close')
  })

  it('but not while the ICL is away and may add to its lease', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockImplementation(({ signal }) =>
      world.clock.sleep(200_000, signal).then(() => 'Four.'),
    )
    world.api.getAssignment.mockImplementation(async () => {
      const view = world.look()
      if (view.step !== 'work') return view
      throw new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })
    })
    await run(world)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
    expect(world.api.abortAssignment).not.toHaveBeenCalled()
  })

  for (const [what, error] of [
    ['the ICL', new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })],
    ['the database of the ICL', new ProblemError('unavailable', 'Nothing can be saved')],
  ] as const) {
    it(`but not when ${what} goes away as it claims: the claim may have been saved`, async () => {
      const world = await createJobWorld('leader')
      const startedAt = world.clock.now()
      world.api.claimAssignment.mockImplementation(async () => {
        if (world.clock.now() - startedAt > 90_000) return world.claim
        throw error
      })
      await run(world)
      expect(world.api.postResult).toHaveBeenCalledTimes(1)
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
    })
  }

  for (const code of ['stale-fence', 'job-settled'] as const) {
    it(`but left quietly on ${code}`, async () => {
      const world = await createJobWorld('leader')
      world.api.revealAnswer.mockRejectedValue(new ProblemError(code, 'too late'))
      await run(world)
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toBe(
        `WARNING Job ${jobId}: stopped: The ICL refused: too late (${code})`,
      )
    })
  }
})

describe('a delivery that comes to nothing', () => {
  const breakStore = (world: JobWorld) => {
    const storeOutputKey = async () => {
      throw new SvcError('store-key-reverted', 'transaction reverted: x', { hint: 'Check gas.' })
    }
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
  }

  it('is given back once without an upload, and the node checks the next one', async () => {
    const world = await createJobWorld('leader')
    breakStore(world)
    world.turns.push({ step: 'check', to_check: await world.delivered('Four.') })
    await run(world)
    await turnAbortsWith(world, 'store-key-reverted')
    expect(world.api.putBlob).not.toHaveBeenCalled()
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'match' })
  })

  it('is not tried again for an ICL that asks again: it costs gas', async () => {
    const world = await createJobWorld('leader')
    const storeOutputKey = vi.fn(async () => {
      throw new SvcError('store-key-reverted', 'transaction reverted: x', { hint: 'Check gas.' })
    })
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
    world.turns.push({ step: 'deliver', checkers: [1, 2] })
    const running = runJob(world.deps, world.assignment, new AbortController().signal, ignored)
    await world.clock.advance(30_000)
    expect(storeOutputKey).toHaveBeenCalledTimes(1)
    world.turns.length = 0
    await world.clock.until(running)
    await turnAbortsWith(world, 'store-key-reverted')
  })

  it('leaves the answer standing', async () => {
    const world = await createJobWorld('leader')
    breakStore(world)
    await run(world)
    expect(world.history.records.at(-1)).toMatchObject({
      outcome: 'answered',
      reason: 'the job is accepted',
    })
  })

  it('because another delivers by now is no failure of this node', async () => {
    const world = await createJobWorld('leader')
    world.api.postResult.mockImplementation(async () => {
      world.turns.length = 0
      throw new ProblemError('not-your-turn', 'too late')
    })
    await run(world)
    expect(world.api.abortTurn).not.toHaveBeenCalled()
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
  })

  it('because its turn has passed is not given back: it might be the next turn that this ends', async () => {
    const world = await createJobWorld('leader')
    const storeOutputKey: JobWorld['chain']['storeOutputKey'] = async (key) => {
      world.turns.shift()
      world.turns.push({ step: 'check', to_check: await world.delivered('Four.') })
      await world.clock.sleep(100_000)
      return await world.chain.storeOutputKey(key)
    }
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
    await run(world)
    expect(world.api.abortTurn).not.toHaveBeenCalled()
    expect(world.api.postVerdict.mock.calls[0]![0].body.verdict).toBe('match')
  })

  it('because its time is over is given back', async () => {
    const world = await createJobWorld('leader')
    const storeOutputKey: JobWorld['chain']['storeOutputKey'] = async (key) => {
      await world.clock.sleep(100_000)
      return await world.chain.storeOutputKey(key)
    }
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
    const startedAt = world.clock.now()
    await run(world)
    expect(world.clock.now() - startedAt).toBe(43_000)
    await turnAbortsWith(world, 'deadline-too-close')
  })

  it('for an upload that the ICL refuses and asks for again costs no second key', async () => {
    const world = await createJobWorld('leader')
    const { putBlob } = world.api
    putBlob.mockRejectedValueOnce(new ProblemError('job-settled', 'it is not'))
    await run(world)
    expect(putBlob).toHaveBeenCalledTimes(2)
    expect(world.chain.stored).toHaveLength(1)
    expect(world.api.postResult).toHaveBeenCalledTimes(1)
  })

  it('is sent again, the same bytes, when the ICL was away', async () => {
    const world = await createJobWorld('leader')
    const { postResult } = world.api
    const taken = postResult.getMockImplementation()!
    const away = new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })
    postResult.mockRejectedValueOnce(away).mockImplementation(taken)
    await run(world)
    const bodies = postResult.mock.calls.map(([{ body }]) => body)
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0]!)
    expect(world.chain.stored).toHaveLength(1)
    expect(world.log.lines.join('\n')).toMatch(/WARNING .*deliver: gone.*asking for the next step/)
  })
})
