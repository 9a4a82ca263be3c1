import { expect, it } from 'vitest'
import { type InferHost, runInfer } from '../../../client/infer/run-infer.ts'
import type { Client } from '../../../lib/client/client.ts'
import type { ClientContext } from '../../../lib/client/context.ts'
import { infer } from '../../../lib/client/infer.ts'
import { openJob } from '../../../lib/client/open-job.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Interrupted } from '../../../lib/host/stop-signals.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { createFakeWorld } from '../../lib/client/fake-world.ts'
import { passing, worldWhere } from '../../lib/client/late-world.ts'

const model = 'openai:gpt-4o-mini'
const limitSeconds = 4_444
const away = passing('icl-unreachable')

/** The end of `--timeout`, which comes when a test says so. */
function limit() {
  let pass = () => {}
  const passed = new Promise<void>((resolve) => {
    pass = resolve
  })
  const limited = (clock: Clock): Clock => ({
    ...clock,
    sleep: (ms, signal) => (ms === limitSeconds * 1_000 ? passed : clock.sleep(ms, signal)),
  })
  return { pass, limited }
}

/** Runs one prompt in a world; without `limited` the time limit never comes. */
async function run(
  context: ClientContext,
  { limited } = limit(),
  more: Partial<Pick<InferHost, 'signal'>> = {},
  args: readonly string[] = ['Why?'],
) {
  const told = { stdout: '', stderr: '' }
  const client = {
    context,
    infer: (prompt, options) => infer(context, prompt, options),
    open: (jobId, options) => openJob(context, jobId, options),
  } as Pick<Client, 'context' | 'infer' | 'open'> as Client
  const code = await runInfer(['--timeout', String(limitSeconds), ...args], {
    environment: {
      SVC_MODEL: model,
      SVC_ICL_ENDPOINT: 'https://icl.test',
      SVC_RPC_URL: 'https://rpc.test',
      SVC_CLIENT_KEY_FILE: '/dev/null',
    },
    input: (async function* () {})(),
    output: { write: (text) => (told.stdout += text) },
    errors: { write: (text) => (told.stderr += text) },
    clock: limited(context.clock),
    random: context.random,
    signal: new AbortController().signal,
    connect: async () => client,
    ...more,
  })
  return { code, ...told }
}

it('an answer that is paid for is fetched until the time is over', async () => {
  const { context } = await worldWhere('receipt', (elapsedMs) =>
    elapsedMs < 3_000_000 ? away : undefined,
  )
  const { code, stdout } = await run(context)
  expect([stdout, code]).toEqual(['answer to Why?\n', 0])
})

it('one that was not fetched in time is called paid for, with its job and the cause', async () => {
  const end = limit()
  const { context, tries } = await worldWhere('receipt', () => {
    if (tries.length === 3) end.pass()
    return away
  })
  const { code, stdout } = await run(context, end, {}, ['--json', 'Why?'])
  const { jobId, error } = JSON.parse(stdout)
  expect(error).toMatchObject({ code: 'timed-out' })
  expect(error.message).toBe(
    `The job ${jobId} is accepted at the ICL, but its answer was not fetched within ${limitSeconds} s (tried again: icl-unreachable)`,
  )
  expect(error.hint).toContain('paid for')
  expect(error.hint).toContain(`npm run infer -- --open ${jobId}`)
  expect(code).toBe(75)
})

it('one that was checked is printed although the time is over before it is seen on chain', async () => {
  const end = limit()
  const { context } = await worldWhere('commit', () => {
    end.pass()
    return passing('chain-unavailable')
  })
  const { code, stdout, stderr } = await run(context, end)
  expect([stdout, code]).toEqual(['answer to Why?\n', 75])
  expect(stderr).toContain('not seen on chain')
})

it('a stopped command calls an accepted job by its name, and does not say that it cancels it', async () => {
  const stop = new AbortController()
  const { context } = await worldWhere('receipt', () => {
    stop.abort(new Interrupted('SIGINT', 130))
    return away
  })
  const { code, stderr } = await run(context, limit(), { signal: stop.signal })
  expect(stderr).toContain('Stopped by SIGINT: stopping')
  expect(stderr).toMatch(
    /The job 0x[0-9a-f]{64} is accepted at the ICL\. `npm run infer -- --open 0x/,
  )
  expect(code).toBe(130)
})

it('a stopped command names the command that opens the answer of a job that continues', async () => {
  const stop = new AbortController()
  const views = () => [{ status: 'running' as const }]
  const { context } = await createFakeWorld({ hasCommitted: true, views })
  const getJob: typeof context.api.getJob = async (...args) => {
    stop.abort(new Interrupted('SIGINT', 130))
    return await context.api.getJob(...args)
  }
  const { code, stderr } = await run(
    { ...context, api: { ...context.api, getJob } },
    ...[limit(), { signal: stop.signal }],
  )
  expect(stderr).toMatch(/(The job 0x[0-9a-f]{64}) continues\. `npm run infer -- --open 0x/)
  expect(code).toBe(130)
})

it('a job that was cancelled in time is told so, and that another run pays again', async () => {
  const end = limit()
  const { context, callsOf } = await createFakeWorld({
    views: () => [{ status: 'open' }, { status: 'cancelled' }],
  })
  const getJob: typeof context.api.getJob = async (...args) => {
    end.pass()
    return await context.api.getJob(...args)
  }
  const { code, stderr } = await run({ ...context, api: { ...context.api, getJob } }, end)
  expect(callsOf('cancelJob')).toHaveLength(1)
  expect(stderr).toMatch(/no answer within 4444 s\. The job 0x[0-9a-f]{64} is cancelled at the ICL/)
  expect(stderr).toContain('Another run pays again')
  expect(code).toBe(75)
})

it('before a job was submitted the same may be tried again', async () => {
  const end = limit()
  const { context } = await createFakeWorld()
  const previewQuorum: typeof context.api.previewQuorum = (_, options) => {
    end.pass()
    return new Promise((_resolve, reject) => {
      options?.signal?.addEventListener('abort', () => reject(options.signal?.reason))
    })
  }
  const { code, stderr } = await run({ ...context, api: { ...context.api, previewQuorum } }, end)
  expect(stderr).toContain('no answer within 4444 s. No job was submitted')
  expect(stderr).toContain('hint: Try again')
  expect(code).toBe(75)
})

it('says what the coordinator failed with while its list was waited for, and what was paid', async () => {
  const end = limit()
  const { context } = await createFakeWorld()
  const drawList: typeof context.api.drawList = (_, options) => {
    options?.onRetry?.(new ProblemError('chain-unavailable', 'The chain cannot be reached'))
    end.pass()
    return new Promise((_resolve, reject) => {
      options?.signal?.addEventListener('abort', () => reject(options.signal?.reason))
    })
  }
  const { code, stderr } = await run({ ...context, api: { ...context.api, drawList } }, end)
  expect(stderr).toContain('No job was submitted. Only its transactions on chain were paid for')
  expect(stderr).toContain('(the coordinator failed: The chain cannot be reached)')
  expect(code).toBe(75)
})

it('one of an earlier process is opened by the id of its job, and costs nothing', async () => {
  const { context, callsOf } = await createFakeWorld()
  const first = await run(context, limit(), {}, ['--json', 'Why?'])
  const { timings_ms: _, ...asked } = JSON.parse(first.stdout)
  const opened = await run(context, limit(), {}, ['--json', '--open', asked.jobId])
  expect(JSON.parse(opened.stdout)).toMatchObject(asked)
  expect(opened.code).toBe(0)
  expect(callsOf('storeKey')).toHaveLength(1)
  const wrong = await run(context, limit(), {}, ['--open', asked.jobId, 'Why?'])
  expect([wrong.stdout, wrong.code]).toEqual(['', 2])
  expect(wrong.stderr).toContain('--open takes no prompt')
  const webhook = ['--open', asked.jobId, '--webhook', 'https://host.example/hook']
  const ignored = await run(context, limit(), {}, webhook)
  expect([ignored.stderr.includes('--open takes no --webhook'), ignored.code]).toEqual([true, 2])
  const shorter = ['--open', asked.jobId, '--max-output-tokens', '7']
  const lied = await run(context, limit(), {}, shorter)
  expect(lied.stderr).toContain('another length of answer')
  const unknown = await run(context, limit(), {}, ['--open', `0x${'12'.repeat(32)}`])
  expect([unknown.stderr.includes('This wallet has no job'), unknown.code]).toEqual([true, 1])
})

it('one of an earlier process that has no answer yet continues, whether the time is over or its user stops', async () => {
  const { context, callsOf } = await createFakeWorld()
  const asked = await run(context, limit(), {}, ['--json', 'Why?'])
  const { jobId } = JSON.parse(asked.stdout)
  const open = async (leave: () => void, ...more: [ReturnType<typeof limit>, object?]) => {
    const getJob: typeof context.api.getJob = async (...args) => {
      leave()
      return { ...(await context.api.getJob(...args)), status: 'open' }
    }
    const slow = { ...context, api: { ...context.api, getJob } }
    const [end, host] = more
    return await run(slow, end, host, ['--open', jobId])
  }
  const end = limit()
  const late = await open(end.pass, end)
  expect(late.stderr).toContain(`no answer within 4444 s. The job ${jobId} continues`)
  expect(late.stderr).toMatch(/hint: Wait for it again: .* costs nothing/)
  const stop = new AbortController()
  const stopped = await open(() => stop.abort(new Interrupted('SIGINT', 130)), limit(), {
    signal: stop.signal,
  })
  expect(stopped.stderr).toContain('Stopped by SIGINT: stopping')
  expect(stopped.stderr).toContain(`The job ${jobId} continues.`)
  expect(callsOf('cancelJob')).toHaveLength(0)
})
