import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runDaemon } from '../../../node/daemon.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { createLog, type LogFormat } from '../../../node/log.ts'
import { messages } from '../../../node/log-messages.ts'
import { cannot, runPython, skipped } from '../../client/python/python.ts'
import { createDaemonWorld } from '../daemon-world.ts'
import { jobId, modelId, nodeAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const folder = await mkdtemp(join(tmpdir(), 'svc-python-'))
afterAll(() => rm(folder, { recursive: true }))

const print = `
import json, sys
from dataclasses import asdict
from svc_node import read_log
for line in read_log(open(sys.argv[1], "rb")):
    event = line.event and {name: value for name, value in asdict(line.event).items() if value is not None}
    print(json.dumps([line.level, event or line.message]))
`

it.skipIf(cannot)(`the module svc_node in Python passes its own tests${skipped}`, async () => {
  const { code, stdout, stderr } = await runPython(['-m', 'unittest'], {}, 'node/python')
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  expect(stderr).toMatch(/Ran 1[5-9] tests/)
})

/** The lines of a log as Python reads them: the level, and the event or else the message. */
async function readByPython(lines: readonly string[]) {
  const path = join(folder, 'node.log')
  await writeFile(path, `${lines.join('\n')}\n`)
  const { code, stdout, stderr } = await runPython(['-c', print, path], {}, 'node/python')
  expect([code, stderr]).toEqual([0, ''])
  const read = stdout.trimEnd().split('\n')
  expect(read).toHaveLength(lines.length)
  return read.map((line) => JSON.parse(line) as [string | null, unknown])
}

/** The log that a daemon writes, and its lines. */
function writtenLog({ clock }: Pick<JobWorld, 'clock'>, format: LogFormat = 'text') {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  return { log: createLog({ level: 'DEBUG', format, address: nodeAddress, clock, write }), lines }
}

const steps = { onClaimed: () => {}, onSlotFree: () => {} }

async function eventsOf(world: JobWorld) {
  const { log, lines } = writtenLog(world)
  const { deps, assignment, clock } = world
  await clock.until(runJob({ ...deps, log }, assignment, new AbortController().signal, steps))
  return (await readByPython(lines)).filter(([, event]) => typeof event === 'object')
}

const info = (name: string, values: object = {}) => ['INFO', { name, ...values }]
const job_id = jobId
const upToTheAnswer = [
  info('job-claimed', { job_id }),
  info('prompt-key-decrypted', { job_id }),
  info('prompt-downloaded', { job_id, bytes: expect.any(Number) }),
  info('inference-running', { job_id, model: modelId }),
  info('inference-complete', { job_id, seconds: 0 }),
]

describe.skipIf(cannot)(`the log of a node, read in Python${skipped}`, () => {
  it.each(['text', 'json'] as const)('shows what a daemon does, as %s', async (format) => {
    const world = await createDaemonWorld()
    const { log, lines } = writtenLog(world, format)
    const running = runDaemon({ ...world.deps, log }, world.stop.signal)
    await world.clock.advance(61_000)
    world.api.postHeartbeat.mockRejectedValueOnce(new Error('the ICL is away'))
    world.offer(2)
    await world.clock.advance(61_000)
    world.stop.abort()
    await world.clock.until(running)
    const of = { job_id: `0x${'2'.repeat(64)}` }
    const starting = {
      ...{ version: '1.2.3', address: nodeAddress, tiers: [0] },
      ...{ models: [modelId], seconds: 86_400 },
    }
    const read = await readByPython(lines)
    for (const line of [
      info('daemon-starting', starting),
      info('heartbeat-sent'),
      info('no-assignments'),
      ['WARNING', { name: 'heartbeat-failed', why: 'the ICL is away' }],
      info('assignments-received', { count: 1 }),
      info('job-spawning', { ...of, role: 'leader' }),
      info('job-starting', { ...of, role: 'leader' }),
      info('result-accepted', of),
      ['INFO', 'Daemon stopped'],
    ]) {
      expect(read).toContainEqual(line)
    }
  })

  it('shows a start without tiers and models', async () => {
    const { log, lines } = writtenLog(await createJobWorld('leader'))
    const known = { address: nodeAddress, modelIds: [], certificateSeconds: 0, version: '1.2.3' }
    for (const tiers of [undefined, [], [0, 12]])
      log.info(messages.daemonStarting({ ...known, tiers }))
    const { address, version } = known
    const starting = { address, version, models: [], seconds: 0 }
    expect(await readByPython(lines)).toEqual([
      info('daemon-starting', starting),
      info('daemon-starting', { ...starting, tiers: [] }),
      info('daemon-starting', { ...starting, tiers: [0, 12] }),
    ])
  })

  it('shows the steps of a leader', async () => {
    expect(await eventsOf(await createJobWorld('leader'))).toEqual([
      info('job-starting', { job_id, role: 'leader' }),
      ...upToTheAnswer,
      info('output-uploaded', { job_id, cid: expect.stringMatching(/^b[a-z2-7]+$/) }),
      info('result-accepted', { job_id }),
    ])
  })

  for (const [text, found] of [
    ['Four.', { verdict: 'match' }],
    ['Five.', { verdict: 'no-match', reason: expect.any(String) }],
  ] as const) {
    it(`shows the steps of a verifier that finds ${found.verdict}`, async () => {
      const world = await createJobWorld('verifier')
      const deadline = world.view.server_time + 60
      world.turns.push({ step: 'check', to_check: await world.delivered(text), deadline })
      expect(await eventsOf(world)).toEqual([
        info('job-starting', { job_id, role: 'verifier' }),
        ...upToTheAnswer,
        info('verdict', { job_id, ...found }),
      ])
    })
  }

  it('shows decryptions that fail, and the abort after them', async () => {
    const world = await createJobWorld('leader')
    world.coprocessor.granted.clear()
    const failed = (aborted: boolean) => ({
      ...{ name: 'decrypt-failed', job_id, aborted, why: expect.stringContaining('denied') },
    })
    const events = await eventsOf(world)
    expect(events[2]).toEqual(['WARNING', failed(false)])
    expect(events.at(-1)).toEqual(['ERROR', failed(true)])
  })

  it('shows why another job was aborted', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockRejectedValue(new Error('provider openai failed'))
    const why = expect.stringContaining('provider openai failed')
    expect((await eventsOf(world)).at(-1)).toEqual(['ERROR', { name: 'job-aborted', job_id, why }])
  })
})
