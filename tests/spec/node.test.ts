import { homedir } from 'node:os'
import { join } from 'node:path'
import { toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { getBlockNumber } from 'viem/actions'
import { describe, expect, it } from 'vitest'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { promptOfText } from '../../lib/prompt.ts'
import { systemClock } from '../../lib/system.ts'
import { openLog } from '../../node/commands/run-log.ts'
import { parseConfig } from '../../node/config.ts'
import { configPathOf } from '../../node/config-file.ts'
import { runDaemon } from '../../node/daemon.ts'
import { createOpenAi } from '../../node/inference/openai.ts'
import { runJob } from '../../node/jobs/run-job.ts'
import { answerJson, startServer } from '../local-server.ts'
import { createDaemonWorld } from '../node/daemon-world.ts'
import { jobId, recordingLog } from '../node/fakes.ts'
import { createJobWorld, type JobWorld } from '../node/job-world.ts'
import { runHere } from '../node/run-here.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld) =>
  world.clock.until(runJob(world.deps, world.assignment, new AbortController().signal, steps))

/** Expects one line of each pattern, in this order. */
function expectLines(lines: readonly string[], patterns: readonly RegExp[]): void {
  const at = patterns.map((pattern) => lines.findIndex((line) => pattern.test(line)))
  expect(patterns.filter((_, index) => at[index] === -1)).toEqual([])
  expect(at).toEqual(at.toSorted((one, other) => one - other))
}

const upToTheAnswer = [
  new RegExp(`^INFO Job ${jobId}: claimed`),
  /^INFO .*Decrypted prompt key/,
  /^INFO .*Downloaded prompt blob/,
  /^INFO .*Running inference .*via openai:test-model/,
  /^INFO .*Inference complete/,
]

describe('the log of a job (section 6)', () => {
  it('has the steps of a leader in the order of the job', async () => {
    const world = await createJobWorld('leader')
    await run(world)
    expectLines(world.log.lines, [
      new RegExp(`^INFO Job ${jobId}: starting as leader`),
      ...upToTheAnswer,
      /^INFO .*uploaded encrypted output/,
      /^INFO .*Leader result accepted/,
    ])
  })

  for (const [text, verdict] of [
    ['Four.', 'match'],
    ['Five.', 'no-match'],
  ] as const) {
    it(`has the steps of a verifier that finds ${verdict}`, async () => {
      const world = await createJobWorld('verifier')
      world.turns.push({
        ...{ step: 'check', to_check: await world.delivered(text) },
        deadline: world.view.server_time + 60,
      })
      await run(world)
      expect(world.api.postVerdict.mock.calls[0]![0].body).toMatchObject({ verdict })
      expectLines(world.log.lines, [
        new RegExp(`^INFO Job ${jobId}: starting as verifier`),
        ...upToTheAnswer,
        new RegExp(`^INFO .*Verdict: ${verdict}\\b`),
      ])
    })
  }

  it('has heartbeats, jobs and attestations at INFO, and short ids on a terminal', async () => {
    const world = await createDaemonWorld({ secondsLeft: 0 })
    const lines: string[] = []
    const print = (line: string) => void lines.push(line)
    const file = {
      ...{ attestation_backend: 'mock', supported_model_ids: ['openai:x'] },
      ...{ icl_endpoint: 'https://icl.example', cofhe_endpoint: 'https://rpc.example' },
    }
    const { log } = openLog(
      { clock: world.clock, print, isWatched: true },
      parseConfig(file, {}, 'config.json'),
      world.deps.address,
    )
    world.offers.push(world.assignment)
    const running = runDaemon({ ...world.deps, log }, world.stop.signal)
    await world.clock.advance(10_000)
    world.stop.abort()
    await world.clock.until(running)
    const shortId = `${jobId.slice(0, 6)}..${jobId.slice(-4)}`
    const fragments = [
      ...['Attested with the ICL', 'Daemon starting', 'Heartbeat sent to ICL', 'Received 1 assign'],
      ...[
        `Spawning leader job ${shortId}`,
        'starting as leader',
        'claimed',
        'Decrypted prompt key',
      ],
      ...[
        'Downloaded prompt blob',
        'Running inference .* via openai:test-model',
        'Inference complete',
      ],
      ...['uploaded encrypted output', 'Leader result accepted'],
    ]
    expectLines(
      lines,
      fragments.map((text) => new RegExp(`^\\S+ \\[INFO\\] \\S+ (Job ${shortId}: )?${text}`)),
    )
    expect(lines.join('\n')).not.toContain(jobId)
  })

  it('has an ERROR for a blob that cannot be fetched', async () => {
    const world = await createJobWorld('leader')
    world.blobs.blobs.clear()
    await run(world)
    expect(world.log.lines.join('\n')).toMatch(
      /ERROR .*aborted: the prompt blob could not be fetched/,
    )
    expect(world.complete).not.toHaveBeenCalled()
  })

  it('has an ERROR for empty key handles', async () => {
    const world = await createJobWorld('leader')
    world.api.claimAssignment.mockResolvedValue({
      ...world.claim,
      ...{ kpHighHandle: 0n, kpLowHandle: 0n },
    })
    await run(world)
    expect(world.log.lines.join('\n')).toMatch(
      /ERROR .*aborted: key handles are missing, the prompt cannot be decrypted/,
    )
  })

  it('names the provider when the inference fails', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockRejectedValue(new Error('provider openai failed'))
    await run(world)
    expect(world.log.lines.join('\n')).toMatch(/ERROR .*aborted: provider openai failed/)
    expect(world.api.revealAnswer).not.toHaveBeenCalled()
  })
})

it('names the commands of section 4 in its help', async () => {
  const { code, out } = await runHere(['--help'], {})
  expect(code).toBe(0)
  for (const name of ['init', 'attest', 'run'])
    expect(out).toMatch(new RegExp(`^ +${name}\\b`, 'm'))
  const attest = await runHere(['attest', '--help'], {})
  expect(attest.out).toContain('--mock')
})

it('reads ~/.svc/config.json, or the file that SVC_CONFIG_PATH names', () => {
  expect(configPathOf({})).toBe(join(homedir(), '.svc', 'config.json'))
  expect(configPathOf({ SVC_CONFIG_PATH: '/etc/svc/a.json' })).toBe('/etc/svc/a.json')
})

describe('a daemon', () => {
  it('keeps all loops running while it infers', async () => {
    const world = await createDaemonWorld({ secondsLeft: 6 * 3_600 + 60 })
    world.chain.state.lastHeartbeat = Math.floor(world.clock.now() / 1_000) - 11 * 86_400
    world.complete.mockImplementation(() => world.clock.sleep(100_000).then(() => 'Four.'))
    world.offer(1)
    const running = world.start()
    await world.clock.advance(95_000)
    expect(world.lines('Heartbeat sent to ICL')).toHaveLength(2)
    expect(world.polls.length).toBeGreaterThan(3)
    expect(world.chain.state.heartbeats).toBe(1)
    world.stop.abort()
    await world.clock.until(running)
  })
})

describe('what leaves a node (section 4)', () => {
  it('is JSON-RPC by POST to the chain', async () => {
    const server = await startServer((response, { body }) => {
      const { id, method } = JSON.parse(body)
      const result = method === 'eth_chainId' ? toHex(31_337) : toHex(258)
      answerJson(response, 200, { jsonrpc: '2.0', id, result })
    })
    const account = privateKeyToAccount(`0x${'17'.repeat(32)}`)
    const { publicClient } = createChainWriter({ rpcUrl: server.url, chainId: 31_337, account })
    expect(await getBlockNumber(publicClient)).toBe(258n)
    const asked = server.seen.find(({ body }) => body.includes('eth_blockNumber'))
    expect(asked).toMatchObject({ method: 'POST' })
    expect(asked?.headers['content-type']).toBe('application/json')
    expect(JSON.parse(asked!.body)).toMatchObject({ jsonrpc: '2.0', method: 'eth_blockNumber' })
    await server.close()
  })

  it('is a chat completion to the provider', async () => {
    const server = await startServer((response) =>
      answerJson(response, 200, { choices: [{ index: 0, message: { content: 'Four.' } }] }),
    )
    const provider = createOpenAi({
      ...{ name: 'openai', apiKey: 'a-key', keyVariable: 'OPENAI_API_KEY' },
      ...{ baseUrl: `${server.url}/v1`, clock: systemClock, log: recordingLog() },
    })
    await provider.complete({ model: 'x', prompt: promptOfText('Two?'), maxOutputTokens: 9 })
    const [asked] = server.seen
    expect([asked?.method, asked?.path]).toEqual(['POST', '/v1/chat/completions'])
    expect(asked?.headers.authorization).toBe('Bearer a-key')
    expect(JSON.parse(asked!.body)).toMatchObject({
      ...{ model: 'x', messages: [{ role: 'user', content: 'Two?' }] },
    })
    await server.close()
  })
})
