import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { systemClock } from '../../../lib/system.ts'
import type { CommandContext } from '../../../node/commands/context.ts'
import type { Trouble } from '../../../node/commands/diagnose-node.ts'
import { examine } from '../../../node/commands/doctor/doctor.ts'
import { showStatus } from '../../../node/commands/status.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { startStubChain } from '../stub-chain.ts'
import { quietContext } from './context.ts'
import { startCommandWorld } from './world.ts'

const allNames = [
  ...['config', 'disk', 'journal', 'keystore', 'password', 'certificate', 'icl', 'clock'],
  ...['chain', 'contracts'],
  ...['wallet', 'transactions', 'registration', 'coprocessor', 'gateway', 'provider', 'tpm', 'fhe'],
]

const servers: LocalServer[] = []
const folders: string[] = []

const commands = await startCommandWorld()
const operator = await commands.newOperator()
await commands.fund(operator.address, '3')
expect(await operator.run(['register', '--yes'])).toMatchObject({ code: 0 })
expect(await operator.run(['attest'])).toMatchObject({ code: 0 })
afterAll(async () => {
  for (const server of servers) await server.close()
  for (const folder of folders) await rm(folder, { recursive: true })
  await commands.stop()
})

const serve = async (...args: Parameters<typeof startServer>): Promise<string> => {
  const server = await startServer(...args)
  servers.push(server)
  return server.url
}

/** A copy of the healthy node's folder, to break. */
const copyOfNode = async (): Promise<{ folder: string; env: Record<string, string> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-broken-'))
  folders.push(folder)
  await cp(operator.folder, folder, { recursive: true })
  return { folder, env: { SVC_CONFIG_PATH: join(folder, 'config.json') } }
}

/** What doctor finds: the checks that failed, those that were skipped, all of them by name. */
async function doctor(
  changes: Record<string, string> = {},
  parts: Partial<Pick<CommandContext, 'clock' | 'fetch'>> = {},
  flags: { try?: boolean } = {},
) {
  const context = quietContext({ ...operator.env, ...changes }, parts)
  const code = await examine({ try: false, json: true, ...flags }, context)
  const { healthy, checks } = JSON.parse(context.printed.join('')) as {
    healthy: boolean
    checks: readonly Check[]
  }
  const having = (status: Check['status']) =>
    checks.filter((check) => check.status === status).map(({ name }) => name)
  const find = (name: string) => checks.find((check) => check.name === name)
  return { code, healthy, checks, failed: having('failed'), skipped: having('skipped'), find }
}

/** An ICL like the real one, whose network says something else. */
const iclSaying = async (change: (network: Record<string, unknown>) => object): Promise<string> => {
  const real = await (await fetch(`${commands.world.icl.url}/v1/network`)).json()
  let url = ''
  url = await serve((response, { path }) => {
    if (path !== '/v1/network') return answerJson(response, 404, {})
    return answerJson(response, 200, { ...real, public_url: url, ...change(real) })
  })
  return url
}

/** The real chain's RPC, but calls that `breaks` picks fail. */
const rpcThat = (breaks: (body: string) => boolean): Promise<string> =>
  serve(async (response, { body }) => {
    const { id } = JSON.parse(body)
    if (breaks(body)) {
      const error = { code: -32_000, message: 'this node is broken' }
      return answerJson(response, 200, { jsonrpc: '2.0', id, error })
    }
    const headers = { 'content-type': 'application/json' }
    const real = await fetch(commands.world.chain.rpcUrl, { method: 'POST', headers, body })
    answerJson(response, 200, await real.json())
  })

const provider = (answer: (response: ServerResponse, path: string) => void): Promise<string> =>
  serve((response, { path }) => answer(response, path))

describe('svc-node doctor', () => {
  it('finds a node healthy that is', async () => {
    const { code, healthy, checks, failed, skipped } = await doctor()
    expect([code, healthy, failed, skipped]).toEqual([0, true, [], ['tpm']])
    expect(checks.map(({ name }) => name)).toEqual(allNames)
  })

  it('prints a line for each check, the remedy below a failure, and no secret', async () => {
    const { code, out } = await operator.run(['doctor'], { OPENAI_API_KEY: '' })
    expect(code).toBe(1)
    expect(out).toMatch(/^ok {6}keystore {5}\/.+$/m)
    expect(out).toMatch(/^FAIL {4}provider {5}.+\n +-> Set OPENAI_API_KEY\.$/m)
    expect(out).toMatch(/^skipped tpm {10}not needed: the backend is mock$/m)
    expect(out).toContain('1 of 18 checks failed.')
    for (const secret of [operator.privateKey.slice(2), operator.env.SVC_KEY_PASSWORD!]) {
      expect(out).not.toContain(secret)
    }
  })

  it('config: names the mistake, and what cannot be checked without it', async () => {
    const { code, failed, skipped, find } = await doctor({ SVC_LOG_LEVEL: 'LOUD' })
    expect([code, failed, skipped]).toEqual([1, ['config'], allNames.slice(1, -1)])
    expect(find('config')?.detail).toContain('log_level (SVC_LOG_LEVEL)')
  })

  it('config: names the fields that do not exist, fails at a misspelt one, and checks all the rest', async () => {
    const { folder, env } = await copyOfNode()
    const path = join(folder, 'config.json')
    const config = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({ ...config, notes: 'rack 3' }))
    const healthy = await doctor(env)
    expect([healthy.code, healthy.failed]).toEqual([0, []])
    expect(healthy.find('config')?.detail).toContain('notes: unknown field, ignored')
    await writeFile(path, JSON.stringify({ ...config, deploiment: 'addresses.json' }))
    const { code, failed, find } = await doctor(env)
    expect([code, failed]).toEqual([1, ['config']])
    expect(find('config')?.detail).toContain('did you mean deployment?')
    expect(await operator.run(['status'], env)).toMatchObject({
      err: expect.stringContaining('warning: '),
      out: expect.stringContaining('Registration'),
    })
    expect(await operator.run(['run'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('did you mean deployment?'),
    })
  })

  it('journal: says that it is damaged, and how it is repaired', async () => {
    const { folder, env } = await copyOfNode()
    await writeFile(join(folder, 'journal.jsonl'), 'garbage\n')
    const { code, failed, find } = await doctor(env)
    expect([code, failed]).toEqual([1, ['journal']])
    expect(find('journal')?.remedy).toContain('svc-node repair')
    expect(await operator.run(['status'], env)).toMatchObject({
      code: 1,
      out: expect.stringContaining('journal.jsonl is damaged'),
    })
  })

  it('journal: says what to do when it cannot be read', async () => {
    const { folder, env } = await copyOfNode()
    await rm(join(folder, 'journal.jsonl'), { force: true })
    await mkdir(join(folder, 'journal.jsonl'))
    expect((await doctor(env)).find('journal')?.remedy).toContain('who owns the folder')
  })

  it('keystore: missing, or open to others', async () => {
    const open = await copyOfNode()
    await chmod(join(open.folder, 'keystore.json'), 0o644)
    const first = await doctor(open.env)
    expect([first.code, first.failed, first.skipped]).toEqual([1, ['keystore'], ['tpm']])
    expect(first.find('keystore')?.remedy).toContain('chmod 600')

    const gone = await copyOfNode()
    await rm(join(gone.folder, 'keystore.json'))
    const second = await doctor(gone.env)
    expect([second.code, second.failed]).toEqual([1, ['keystore']])
    expect(second.skipped).toEqual([
      'password',
      'certificate',
      'wallet',
      'transactions',
      'registration',
      'tpm',
    ])
    expect(second.find('keystore')?.remedy).toContain('svc-node init')
  })

  it('password: wrong, or not given', async () => {
    const wrong = await doctor({ SVC_KEY_PASSWORD: 'wrong' })
    expect([wrong.code, wrong.failed, wrong.skipped]).toEqual([1, ['password'], ['tpm']])
    expect(wrong.find('password')?.remedy).toContain('SVC_KEY_PASSWORD')
    const none = await doctor({ SVC_KEY_PASSWORD: '' })
    expect([none.failed, none.find('password')?.remedy]).toEqual([
      ['password'],
      expect.stringContaining('SVC_KEY_PASSWORD_FILE'),
    ])
  })

  it('certificate: never attested', async () => {
    const { folder, env } = await copyOfNode()
    await rm(join(folder, 'attestation.json'))
    const { code, failed, skipped, find } = await doctor(env)
    expect([code, failed, skipped]).toEqual([1, ['certificate'], ['tpm']])
    expect(find('certificate')?.remedy).toContain('svc-node attest')
  })

  it('icl: away, and the rest is still checked', async () => {
    const { code, failed, skipped, find } = await doctor({ SVC_ICL_ENDPOINT: 'http://127.0.0.1:9' })
    expect(failed).toEqual(['certificate', 'icl', 'gateway'])
    expect(skipped).toEqual([
      ...[
        'clock',
        'chain',
        'contracts',
        'wallet',
        'transactions',
        'registration',
        'coprocessor',
        'tpm',
      ],
    ])
    expect(find('icl')).toMatchObject({
      remedy: expect.stringContaining('SVC_ICL_ENDPOINT'),
      retryable: true,
    })
    // The record is of another ICL, which the operator has to cure.
    expect(code).toBe(1)
  })

  it('icl: does not take the backend, or lives elsewhere', async () => {
    const picky = await iclSaying(() => ({ attestation_backends: ['tpm'] }))
    const refused = await doctor({ SVC_ICL_ENDPOINT: picky })
    expect(refused.failed).toEqual(['certificate', 'icl'])
    expect(refused.find('icl')?.remedy).toContain('attestation_backend')
    const moved = await iclSaying(() => ({ public_url: 'https://elsewhere.example' }))
    expect((await doctor({ SVC_ICL_ENDPOINT: moved })).find('icl')?.detail).toContain(
      'https://elsewhere.example',
    )
  })

  it('clock: wrong', async () => {
    const fast: Clock = { ...systemClock, now: () => systemClock.now() + 120_000 }
    const { code, failed, skipped, find } = await doctor({}, { clock: fast })
    expect([code, failed, skipped]).toEqual([1, ['clock'], ['tpm']])
    expect(find('clock')?.detail).toMatch(/^1(19|20|21) s ahead of the ICL's$/)
    expect(find('clock')?.remedy).toContain('NTP')
  })

  it('chain: away, or another one', async () => {
    const away = await doctor({ SVC_COFHE_ENDPOINT: 'http://127.0.0.1:9' })
    expect([away.code, away.failed]).toEqual([75, ['chain', 'coprocessor']])
    expect(away.skipped).toEqual(['contracts', 'wallet', 'transactions', 'registration', 'tpm'])
    const stub = await startStubChain(5)
    servers.push(stub)
    const other = await doctor({ SVC_COFHE_ENDPOINT: stub.url })
    expect(other.find('chain')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('is for chain 5'),
      remedy: expect.stringContaining('SVC_COFHE_ENDPOINT'),
    })
  })

  it('contracts: not where the ICL says', async () => {
    const nowhere = `0x${'99'.repeat(20)}`
    const icl = await iclSaying(({ contracts }) => ({
      contracts: { ...Object(contracts), result_registry: nowhere },
    }))
    const { code, failed, find } = await doctor({ SVC_ICL_ENDPOINT: icl })
    expect([code, failed]).toEqual([1, ['certificate', 'contracts']])
    expect(find('contracts')?.detail).toContain(`ResultRegistry ${nowhere}`)
    expect(find('contracts')?.remedy).toContain("ICL's operator")
  })

  it('registration: status and doctor say in the same words that the ICL has not seen it yet', async () => {
    const stale: CommandContext['fetch'] = async (request) => {
      const response = await fetch(request)
      if (!request.url.endsWith(`/v1/nodes/${operator.address}`)) return response
      return Response.json({ ...(await response.json()), active: false, model_tiers: [] })
    }
    const words = 'the ICL has not seen its registration yet'
    const context = quietContext(operator.env, { fetch: stale })
    await showStatus({ json: true }, context)
    const { troubles } = JSON.parse(context.printed.join('')) as { troubles: readonly Trouble[] }
    expect(troubles.map(({ code, retryable }) => [code, retryable])).toEqual([
      ['registration-unseen', true],
      ['no-heartbeat', false],
    ])
    expect(troubles[0]?.message).toContain(words)
    const { code, failed, find } = await doctor({}, { fetch: stale })
    expect([code, failed]).toEqual([75, ['registration']])
    expect(find('registration')?.detail).toContain(words)
  })

  it('wallet and registration: a new node has neither money nor a stake', async () => {
    const poor = await commands.newOperator()
    const { code, failed, skipped, find } = await doctor(poor.env)
    expect([code, skipped]).toEqual([1, ['tpm']])
    expect(failed).toEqual(['certificate', 'wallet', 'registration'])
    expect(find('wallet')?.remedy).toMatch(/^Send 0\.\d+ ETH or more to it\.$/)
    expect(find('registration')?.detail).toContain('run `svc-node register`')
  })

  it('coprocessor: does not answer', async () => {
    const rpc = await rpcThat((body) => body.toLowerCase().includes(taskManager.slice(2)))
    const { failed, skipped, find } = await doctor({ SVC_COFHE_ENDPOINT: rpc })
    expect([failed, skipped]).toEqual([['coprocessor'], ['tpm']])
    expect(find('coprocessor')?.remedy).toContain('coprocessor')
  })

  it('gateway: away, refusing or failing; the ICL is asked all the same', async () => {
    const cases = [
      ['http://127.0.0.1:9', 75],
      [await provider((response) => answerJson(response, 403, {})), 1],
      // As a proxy or a login page does.
      [await provider((response) => response.end('<html>Please log in</html>')), 1],
      [await provider((response) => answerJson(response, 503, {})), 75],
      // A download follows no redirect.
      [
        await provider((r, path) => answerJson(r, 301, {}, { location: `https://a.test${path}` })),
        1,
      ],
    ] as const
    for (const [gateway, expected] of cases) {
      const { code, failed, checks } = await doctor({ SVC_IPFS_GATEWAY: gateway })
      expect([gateway, code, failed]).toEqual([gateway, expected, ['gateway']])
      const gateways = checks.filter(({ name }) => name === 'gateway')
      expect(gateways.map(({ status }) => status)).toEqual(['failed', 'ok'])
      expect(gateways[0]?.remedy).toContain('SVC_IPFS_GATEWAY')
    }
  })

  it('gateway: a server that may be another one is told apart from the ICL', async () => {
    const gateway = await provider((response) => answerJson(response, 404, {}))
    const { checks } = await doctor({ SVC_IPFS_GATEWAY: gateway })
    const gateways = checks.filter(({ name }) => name === 'gateway')
    const doubts = gateways.map(({ detail }) => detail.includes('check that it is a gateway'))
    expect(doubts).toEqual([true, false])
  })

  it('provider: no key, a refused key, an unknown model, a rate limit, away', async () => {
    const list = { data: [{ id: 'another' }] }
    const cases: readonly [Record<string, string>, number, string][] = [
      [{ OPENAI_API_KEY: '' }, 1, 'Set OPENAI_API_KEY'],
      [{ SVC_OPENAI_BASE_URL: await provider((r) => answerJson(r, 401, {})) }, 1, 'Check OPENAI_A'],
      [
        {
          SVC_OPENAI_BASE_URL: await provider((r, path) =>
            answerJson(r, path === '/v1/models' ? 200 : 404, list),
          ),
        },
        1,
        'SVC_SUPPORTED_MODEL_IDS',
      ],
      [{ SVC_OPENAI_BASE_URL: await provider((r) => answerJson(r, 429, {})) }, 75, 'Wait'],
      [{ SVC_OPENAI_BASE_URL: 'http://127.0.0.1:9' }, 75, 'Start the server'],
      [
        { SVC_OPENAI_BASE_URL: await provider((r) => answerJson(r, 404, {})) },
        1,
        'SVC_OPENAI_BASE_URL',
      ],
      [
        { SVC_OPENAI_BASE_URL: await provider((r) => r.end('<html>Please log in</html>')) },
        1,
        'no proxy or login page',
      ],
    ]
    for (const [changes, expected, remedy] of cases) {
      const { code, failed, skipped, find } = await doctor(changes)
      expect([changes, code, failed, skipped]).toEqual([changes, expected, ['provider'], ['tpm']])
      expect(find('provider')?.remedy).toContain(remedy)
    }
  })

  it('provider: `run` ends with the remedy when something else answers there', async () => {
    const url = await provider((r) => r.end('<html>Please log in</html>'))
    const { code, err } = await operator.run(['run'], { SVC_OPENAI_BASE_URL: url })
    expect(code).toBe(1)
    expect(err).toContain(`provider openai at ${url}/v1 sends`)
    expect(err).toContain('Correct the base URL (SVC_OPENAI_BASE_URL')
  })

  it('provider: takes an alias, and any server by its name', async () => {
    const url = await provider((response, path) =>
      path === '/v1/models/llama3%3A8b'
        ? answerJson(response, 200, { id: 'llama3:8b-instruct' })
        : answerJson(response, 200, { data: [] }),
    )
    const changes = { SVC_SUPPORTED_MODEL_IDS: 'ollama:llama3:8b', SVC_OLLAMA_BASE_URL: url }
    const { code, find } = await doctor(changes)
    expect([code, find('provider')?.status]).toEqual([0, 'ok'])
    expect(find('provider')?.detail).toContain('has llama3:8b; it was not run')
  })

  describe('--try', () => {
    /** A server that answers each request in its way, the node's environment for it, and the requests for completions. */
    async function tryOut(model: string, answer: (body: Record<string, unknown>) => object) {
      const asked: Record<string, unknown>[] = []
      const url = await serve((response, { path, body }) => {
        if (path === '/v1/models') return answerJson(response, 200, { data: [{ id: 'm' }] })
        asked.push(JSON.parse(body))
        const { status = 200, ...said } = answer(asked.at(-1)!) as { status?: number }
        if (status !== 200) return answerJson(response, status, said)
        answerJson(response, 200, { choices: [{ finish_reason: 'stop', message: said }] })
      })
      const [name = ''] = model.split(':')
      const changes = {
        SVC_SUPPORTED_MODEL_IDS: model,
        [`SVC_${name.toUpperCase()}_BASE_URL`]: url,
      }
      return { asked, changes, ...(await doctor(changes, {}, { try: true })) }
    }
    const called = { function: { name: 'say_yes', arguments: '{"answer":"yes"}' } }

    it('runs a model with each part that the node declares, and costs nothing without it', async () => {
      const { code, asked, changes, find } = await tryOut('mine:m', ({ tools, response_format }) =>
        tools
          ? { content: null, tool_calls: [called] }
          : { content: response_format ? '{"answer": "yes"}' : 'Yes.' },
      )
      expect([code, find('provider')?.status]).toEqual([0, 'ok'])
      expect(find('provider')?.detail).toMatch(/ runs m: text, json_schema, tools$/)
      expect(asked).toHaveLength(3)
      expect((await doctor(changes)).find('provider')?.detail).toContain('was not run (--try')
      expect(asked).toHaveLength(3)
    })

    it('names what the server ignores, and the setting that says so', async () => {
      const { code, asked, find } = await tryOut('vllm:m', () => ({ content: 'Yes.' }))
      expect([code, asked.length]).toEqual([1, 4])
      const { detail, remedy } = find('provider')!
      expect(detail).toMatch(
        /^m at \S+ ignores or refuses json_schema, teacher \(prompt_logprobs\), tools$/,
      )
      expect(remedy).toMatch(/^Set providers\.vllm\.takes\.parts to \["json_object",/)
      expect(remedy).not.toMatch(/schema|teacher|"tools"/)
    })

    it('names the parts that the server refuses', async () => {
      const { find } = await tryOut('mine:m', ({ tools, response_format }) =>
        tools
          ? { status: 400, error: { message: 'tools are not supported', param: 'tools' } }
          : { content: response_format ? '{"answer":"yes"}' : 'Yes.' },
      )
      expect(find('provider')?.detail).toMatch(/ignores or refuses tools$/)
    })

    it('blames no part for a provider without credit', async () => {
      const { asked, find } = await tryOut('mine:m', () => ({ status: 402, error: {} }))
      expect([asked.length, find('provider')?.status]).toEqual([1, 'failed'])
      expect(find('provider')?.detail).not.toContain('ignores')
    })
  })

  it('provider: says that a server without a list of models was not tried', async () => {
    const url = await provider((response, path) =>
      answerJson(response, path === '/v1/chat/completions' ? 400 : 404, {}),
    )
    const { code, skipped } = await doctor({ SVC_OPENAI_BASE_URL: url })
    expect([code, skipped]).toEqual([0, ['provider', 'tpm']])
  })
})
