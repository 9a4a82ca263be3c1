import { describe, expect, it } from 'vitest'
import type { Address } from '../../../lib/codecs.ts'
import { exact } from '../../../lib/comparators/exact.ts'
import { evidenceKey } from '../../../lib/evidence.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { joinKey, unseal } from '../../../lib/sealing.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import { leaderStatementOf, statementBytes } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { nodeStopping } from '../../../node/jobs/job-end.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash } from '../../branded.ts'
import {
  clientAddress,
  coordinatorAddress,
  jobId,
  leaderAddress,
  modelId,
  nodeAddress,
  storeCosts,
  verifierAddresses,
} from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const ignored = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld, signal = new AbortController().signal) =>
  world.clock.until(runJob(world.deps, world.assignment, signal, ignored))

const abortsWith = (world: JobWorld, reason: string) =>
  expect(world.api.abortAssignment.mock.calls.map(([{ body }]) => body)).toEqual([
    { jobId, fence: 1, reason },
  ])

describe('a leader', () => {
  it('answers, seals, stores the key, uploads and posts a signed result', async () => {
    const world = await createJobWorld('leader')
    await run(world)

    const [{ body: result }] = world.api.postResult.mock.calls[0]!
    expect(world.complete.mock.calls[0]![0].prompt).toBe(world.prompt)
    expect(world.complete.mock.calls[0]![0].model).toBe('test-model')
    expect(result.evidence).toEqual(
      await exact.evidenceOf({
        text: 'Four.',
        prompt: world.prompt,
        key: await evidenceKey(world.promptKey, jobId),
      }),
    )
    const [stored] = world.chain.stored
    expect(stored?.readers).toEqual([clientAddress, ...verifierAddresses])
    expect(stored?.delegate).toBe(coordinatorAddress)
    expect(stored?.until).toBe(world.claim.claimDeadline + 3_600)

    world.coprocessor.granted.add(result.outHighHandle).add(result.outLowHandle)
    const outputKey = joinKey({
      high: await world.coprocessor.decrypt(result.outHighHandle),
      low: await world.coprocessor.decrypt(result.outLowHandle),
    })
    const blob = await world.blobs.download(result.output_cid)
    expect(await unseal(blob, outputKey, { kind: 'output', jobId })).toBe('Four.')

    const [{ query: seat }] = world.api.putBlob.mock.calls[0]!
    expect(seat).toEqual({ jobId, fence: world.claim.fence })

    const statement = statementBytes(leaderStatementOf(nodeAddress, result))
    const { publicKey } = world.deps.sessionKey
    expect(await verifySignature(publicKey, result.signature, statement)).toBe(true)
    expect(world.api.abortAssignment).not.toHaveBeenCalled()
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

  it('says what it does in the words of the specification', async () => {
    const world = await createJobWorld('leader')
    await run(world)
    const info = world.log.lines.filter((line) => !line.startsWith('DEBUG'))
    expect(info[0]).toBe(`INFO Job ${jobId}: starting as leader`)
    expect(info[1]).toBe(`INFO Job ${jobId}: claimed`)
    const fragments = [
      'Decrypted prompt key',
      'Downloaded prompt blob',
      'Running inference',
      'Inference complete',
      'uploaded encrypted output',
      'Leader result accepted',
    ]
    for (const fragment of fragments) expect(info.join('\n')).toContain(fragment)
    expect(info.join('\n')).toMatch(new RegExp(`Running inference .* via ${modelId}`))
  })

  it('shows prompt and output at DEBUG only, and keys nowhere', async () => {
    const world = await createJobWorld('leader', 'the secret answer')
    await run(world)
    const above = world.log.lines.filter((line) => !line.startsWith('DEBUG')).join('\n')
    expect(above).not.toContain(world.prompt)
    expect(above).not.toContain('the secret answer')
    const all = world.log.lines.join('\n')
    expect(all).toContain(world.prompt)
    const hex = Buffer.from(world.promptKey).toString('hex')
    expect(all).not.toContain(hex)
    expect(all).not.toContain(hex.slice(0, 32))
    expect(all).not.toContain(BigInt(`0x${hex.slice(0, 32)}`).toString())
  })

  it('warns of a slow inference', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockImplementation(async () => {
      await world.clock.sleep(31_000)
      return 'Four.'
    })
    await run(world)
    expect(world.log.lines.join('\n')).toMatch(/WARNING .*slow inference, 31\.0 s/)
    expect(world.api.postResult).toHaveBeenCalled()
  })
})

describe('a job that cannot be done is given back', () => {
  it('when the claim gives empty handles', async () => {
    const world = await createJobWorld('leader')
    world.api.claimAssignment.mockResolvedValue({ ...world.claim, kpLowHandle: 0n })
    await run(world)
    abortsWith(world, 'key-handles-missing')
    expect(world.log.lines.join('\n')).toMatch(
      /ERROR Job 0x1+: aborted: key handles are missing, the prompt cannot be decrypted/,
    )
  })

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

  it('when the prompt blob cannot be fetched', async () => {
    const world = await createJobWorld('leader')
    world.blobs.blobs.clear()
    await run(world)
    abortsWith(world, 'prompt-unavailable')
    expect(world.log.lines.join('\n')).toContain('the prompt blob could not be fetched')
  })

  it('when the prompt is not sealed with the key or for the client', async () => {
    const world = await createJobWorld('leader')
    const output_readers = [leaderAddress, ...verifierAddresses]
    world.api.claimAssignment.mockResolvedValue({
      ...world.claim,
      client: leaderAddress,
      output_readers,
    })
    await run(world)
    abortsWith(world, 'prompt-unreadable')
  })

  it('when it does not serve the model', async () => {
    const world = await createJobWorld('leader')
    world.api.claimAssignment.mockResolvedValue({ ...world.claim, model_id: 'openai:other' })
    await run(world)
    abortsWith(world, 'model-not-offered')
  })

  it('when the provider refuses', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockRejectedValue(
      new SvcError('provider-rate-limited', 'provider openai failed: 429', { hint: 'Wait.' }),
    )
    await run(world)
    abortsWith(world, 'provider-rate-limited')
  })

  it('when storeKey reverts', async () => {
    const world = await createJobWorld('leader')
    const storeOutputKey = async () => {
      throw new SvcError('store-key-reverted', 'transaction reverted: x', { hint: 'Check gas.' })
    }
    world.deps = { ...world.deps, chain: { ...world.chain, storeOutputKey } }
    await run(world)
    abortsWith(world, 'store-key-reverted')
  })

  it('before it costs gas when the upload fails first', async () => {
    const world = await createJobWorld('leader')
    world.api.putBlob.mockRejectedValue(new ProblemError('body-too-large', 'too large'))
    const encrypt: JobWorld['deps']['coprocessor']['encrypt'] = async (high, low, options) => {
      await world.clock.sleep(5_000)
      return await world.coprocessor.encrypt(high, low, options)
    }
    world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, encrypt } }
    await run(world)
    await world.clock.advance(10_000)
    abortsWith(world, 'output-upload-failed')
    expect(world.chain.stored).toEqual([])
  })

  const readers: Record<string, (world: JobWorld) => readonly Address[]> = {
    'is not on the list': ({ claim }) => [...claim.output_readers, coordinatorAddress],
    'is this very node': ({ claim }) => [...claim.output_readers, nodeAddress],
    'is not the client': () => verifierAddresses,
    'is one of too many': ({ claim }) => [
      ...claim.output_readers,
      ...Array.from({ length: 14 }, () => verifierAddresses[0]),
    ],
  }
  for (const [who, readersOf] of Object.entries(readers)) {
    it(`when a reader of the output key ${who}`, async () => {
      const world = await createJobWorld('leader')
      const output_readers = [...readersOf(world)]
      world.api.claimAssignment.mockResolvedValue({ ...world.claim, output_readers })
      await run(world)
      abortsWith(world, 'output-readers-untrusted')
      expect(world.log.lines.join('\n')).toMatch(
        /ERROR Job 0x1+: aborted: the ICL names readers of the output key/,
      )
      expect(world.complete).not.toHaveBeenCalled()
      expect(world.chain.stored).toEqual([])
    })
  }

  it('when the blob store keeps other bytes than it was given', async () => {
    const world = await createJobWorld('leader')
    world.api.putBlob.mockResolvedValue({ cid: world.claim.prompt_cid })
    await run(world)
    abortsWith(world, 'output-upload-failed')
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
    world.api.getAssignment.mockRejectedValue(
      new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true }),
    )
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

  it('when its claim fails for another cause', async () => {
    const world = await createJobWorld('leader')
    world.api.claimAssignment.mockRejectedValue(
      new ProblemError('internal-error', 'The ICL failed'),
    )
    await run(world)
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
    abortsWith(world, 'key-handles-missing')
  })

  it('when the node stops', async () => {
    const world = await createJobWorld('leader')
    const stop = new AbortController()
    world.complete.mockImplementation(({ signal }) =>
      world.clock.sleep(60_000, signal).then(() => 'late'),
    )
    void world.clock.sleep(5_000).then(() => stop.abort(nodeStopping()))
    await run(world, stop.signal)
    abortsWith(world, 'node-stopping')
  })

  it('and a failure nobody foresaw is the node failing', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockRejectedValue(new TypeError('x is not a function'))
    await run(world)
    abortsWith(world, 'node-failed')
  })

  for (const code of ['stale-fence', 'job-settled'] as const) {
    it(`but left quietly on ${code}`, async () => {
      const world = await createJobWorld('leader')
      world.api.postResult.mockRejectedValue(new ProblemError(code, 'too late'))
      await run(world)
      expect(world.api.abortAssignment).not.toHaveBeenCalled()
      expect(world.log.lines.at(-1)).toBe(
        `WARNING Job ${jobId}: stopped: The ICL refused: too late (${code})`,
      )
    })
  }
})
