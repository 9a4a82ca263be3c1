import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { breadAnswer, liftAnswer } from '../lib/comparators/texts.ts'
import { type DaemonWorld, startDaemonWorld } from './daemon-world.ts'

// Every fragment of spec 6 and 7, seen in the logs of real daemons that work for a real ICL process on a real chain.

const main = join(import.meta.dirname, '..', '..', 'node', 'main.ts')
const jumping = join(import.meta.dirname, 'jumping-daemon.ts')
const jobId = '0x[0-9a-f]{64}'

/** `[place in the specification, level, the fragment]`. */
const fragments: readonly (readonly [string, string, RegExp])[] = [
  ['6', 'INFO', /Daemon starting/],
  [
    '6',
    'INFO',
    /address 0x[0-9a-f]{40}, tier 0, models openai:gpt-4o-mini \(gpt-4o-mini\), certificate valid for \d+ s/,
  ],
  ['6', 'INFO', /Heartbeat sent to ICL/],
  ['6', 'WARNING', /Heartbeat failed/],
  ['6', 'INFO', /No assignments for last 60s/],
  ['6', 'INFO', /Received \d+ assignment\(s\)/],
  ['6', 'INFO', new RegExp(`Spawning leader job ${jobId}`)],
  ['6', 'INFO', new RegExp(`Spawning verifier job ${jobId}`)],
  ['6', 'INFO', new RegExp(`Job ${jobId}: starting as leader`)],
  ['6', 'INFO', new RegExp(`Job ${jobId}: starting as verifier`)],
  ['6', 'INFO', new RegExp(`Job ${jobId}: claimed`)],
  ['6', 'INFO', /Running inference .* via openai:gpt-4o-mini/],
  ['6', 'INFO', /Inference complete/],
  ['6', 'INFO', /Decrypted prompt key/],
  ['6', 'INFO', /Downloaded prompt blob/],
  ['6', 'INFO', /uploaded encrypted output/],
  ['6', 'INFO', /Leader result accepted/],
  ['6', 'INFO', /Verdict: match/],
  ['6', 'INFO', /Verdict: no-match/],
  ['6', 'WARNING', /CoFHE decrypt failed/],
  ['6', 'DEBUG', /POST \/internal\/task\/claim \{/],
  ['6', 'DEBUG', /POST \/internal\/task\/claim -> 200 \{/],
  ['6', 'DEBUG', new RegExp(`Job ${jobId}: prompt: `)],
  ['6', 'DEBUG', /Encrypting an output key: /],
  ['6', 'ERROR', /Attestation failed/],
  ['7', 'WARNING', /Attestation failed/],
  ['7', 'WARNING', /claim failed/],
  ['7', 'ERROR', /aborted: key handles are missing, the prompt cannot be decrypted/],
  ['7', 'ERROR', /aborted: the prompt blob could not be fetched/],
  ['7', 'ERROR', /aborted: CoFHE decrypt failed: FHE decrypt denied \(403\)/],
  ['7', 'ERROR', /aborted: provider openai at \S+ failed/],
  ['7', 'ERROR', /aborted: CoFHE decrypt failed: too many requests/],
  ['7', 'ERROR', /aborted: storeKey reverted/],
]

let world: DaemonWorld
let logFile: string
let everything = ''
let hurrying: NodeJS.Timeout | undefined
beforeAll(async () => {
  world = await startDaemonWorld({
    rpcProxy: true,
    nodeEnv: () => ({ SVC_LOG_LEVEL: 'DEBUG' }),
  })
  logFile = join(world.folder, 'logs', 'node-2.log')
  for (const index of [0, 1, 2]) {
    await world.kill(index)
    world.restartAs(index, [jumping], index === 2 ? { SVC_LOG_FILE: logFile } : {})
  }
  await eventually('the jumping daemon works', async () =>
    (await readLog()).includes('The ICL considers this node'),
  )
  // A daemon that waits for an outage to pass gets there at once.
  const seen = [0, 0, 0]
  hurrying = setInterval(async () => {
    for (const [index, log] of (await logs()).entries()) {
      const waits = log.match(/; trying again$/gm)?.length ?? 0
      if (waits > seen[index]!) world.nodes[index]!.process.kill('SIGUSR2')
      seen[index] = waits
    }
  }, 500)
}, 240_000)
afterAll(() => {
  clearInterval(hurrying)
  return world?.stop()
})

const readLog = () => readFile(logFile, 'utf8').catch(() => '')
const logs = () => Promise.all([world.logOf(0), world.logOf(1), readLog()])
const problem = (status: number, code: string) => ({
  status,
  json: { type: 'x', title: code, status, code, retryable: status >= 500 },
})
const untilFree = () =>
  eventually('the nodes are free', async () => {
    const histories = await Promise.all([0, 1, 2].map(world.historyOf))
    return histories.flat().every(({ outcome }) => outcome !== 'running')
  })
/** Runs a job, however it ends; first the nodes have to be done with the one before. */
const ask = async () => {
  await untilFree()
  return await world.ask(`What is ${randomUUID()}?`).then(
    ({ status }) => status,
    (error: { code?: string }) => error.code ?? String(error),
  )
}
const back = () => {
  world.proxy.decide = undefined
  world.rpc.decide = undefined
  world.provider.answer = () => 'the answer'
}

describe('daemons see', () => {
  it('a job that is accepted', async () => {
    expect(await ask()).toBe('accepted')
  })

  it('a node that differs', async () => {
    world.provider.answer = (key) => (key === 'key-of-node-2' ? breadAnswer : liftAnswer)
    const { address } = world.nodes[2]!
    const said = Promise.withResolvers<void>()
    // Nobody waits for its word: the check, which settles the job, is held until it has come.
    world.proxy.decide = async ({ path, node }): Promise<'pass'> => {
      if (path !== '/internal/task/verify') return 'pass'
      if (node === address) said.resolve()
      else await said.promise
      return 'pass'
    }
    expect(await ask()).toBe('accepted')
    back()
  })

  /** Asks while every claim is changed on its way. */
  const askWithClaims = async (changes: object) => {
    world.proxy.decide = ({ path }) =>
      path === '/internal/task/claim' ? { change: (claim) => ({ ...claim, ...changes }) } : 'pass'
    const status = await ask()
    back()
    return status
  }

  it('a claim that fails', async () => {
    world.proxy.decide = ({ path, node }) =>
      path === '/internal/task/claim' && node === world.nodes[0]?.address
        ? problem(500, 'internal-error')
        : 'pass'
    expect(await ask()).toBe('key-handles-missing')
    back()
  })

  it('a claim with empty handles', async () => {
    const none = { kpHighHandle: '0', kpLowHandle: '0' }
    expect(await askWithClaims(none)).toBe('key-handles-missing')
  })

  it('the original handles instead of the stored ones', async () => {
    const original = { kpHighHandle: '12345', kpLowHandle: '54321' }
    expect(await askWithClaims(original)).toBe('fhe-decrypt-denied')
  })

  it('a gateway without the blob', async () => {
    // Before that, the client reads the pool there.
    let isSubmitted = false
    world.proxy.decide = ({ path }) => {
      isSubmitted ||= path === '/v1/inference'
      return isSubmitted && path.startsWith('/ipfs/') ? problem(404, 'blob-not-found') : 'pass'
    }
    expect(await ask()).toBe('prompt-unavailable')
    back()
  })

  it('a provider that refuses the key', async () => {
    // A node that is still at the job before would be refused, too, and offer no model to the next.
    await untilFree()
    world.provider.answer = () => ({ status: 401, code: 'invalid_api_key' })
    expect(await ask()).toBe('provider-key-refused')
    back()
    const count = (log: string, text: string) => log.split(text).length - 1
    await eventually('the models are offered again', async () => {
      const all = await logs()
      const isSeen = all.some((log) => log.includes('not offered for now'))
      return (
        isSeen && all.every((log) => count(log, 'not offered for now') === count(log, 'Offering '))
      )
    })
  })

  it('a chain RPC that limits requests', async () => {
    // Only the decryptions: the commitment to the list is asked of PromptKeyStore.
    const { nodeRegistry, promptKeyStore } = world.chain.contracts
    const others = [nodeRegistry, promptKeyStore].map((address) => address.toLowerCase())
    world.rpc.decide = ({ body }) =>
      body.includes('eth_call') && !others.some((address) => body.toLowerCase().includes(address))
        ? { status: 429, json: { error: 'too many requests' } }
        : 'pass'
    expect(await ask()).toBe('chain-rate-limited')
    back()
  })

  it('a storeKey that reverts', async () => {
    world.rpc.decide = ({ body }) => {
      if (!/eth_(estimateGas|fillTransaction)/.test(body)) return 'pass'
      const { id } = JSON.parse(body) as { id: number }
      const error = { code: 3, message: 'execution reverted' }
      return { status: 200, json: { jsonrpc: '2.0', id, error } }
    }
    // All three in turn.
    expect(await ask()).toBe('disputed')
    back()
  })

  it('a minute without assignments, and an ICL that is away', async () => {
    const { address } = world.nodes[2]!
    world.proxy.decide = ({ path, node }) => {
      if (node !== address) return 'pass'
      if (path === '/internal/heartbeat') return 'lose-request'
      return path.startsWith('/internal/assignments/')
        ? { status: 200, json: { assignments: [] } }
        : 'pass'
    }
    await eventually('both are logged', async () => {
      world.nodes[2]!.process.kill('SIGUSR2')
      await new Promise((resolve) => setTimeout(resolve, 500))
      const log = await readLog()
      return log.includes('Heartbeat failed') && log.includes('No assignments for last 60s')
    })
    back()
  })

  it('an attestation that is refused', async () => {
    const { address } = world.nodes[2]!
    world.proxy.decide = ({ path, node }) => {
      if (path === '/internal/attestation/verify') return problem(403, 'attestation-hmac-invalid')
      return node === address ? problem(401, 'not-attested') : 'pass'
    }
    await eventually('it is logged', async () => {
      world.nodes[2]!.process.kill('SIGUSR2')
      await new Promise((resolve) => setTimeout(resolve, 500))
      return (await readLog()).includes('Attestation failed')
    })
    back()
  })

  it('that they were never attested', async () => {
    const { env, folder } = world.nodes[0]!
    const bare = join(folder, 'bare')
    await mkdir(bare)
    for (const file of ['config.json', 'keystore.json']) {
      await copyFile(join(folder, file), join(bare, file))
    }
    const bareEnv = { ...env, SVC_CONFIG_PATH: join(bare, 'config.json') }
    await expect(
      world.processes.run({ name: 'bare', args: [main, 'run'], env: bareEnv }),
    ).rejects.toThrow(
      /ended with 1:[\s\S]*error: no attestation found, run `svc-node attest` first/,
    )
  })
})

describe('their logs', () => {
  beforeAll(async () => {
    everything = (await logs()).join('')
  }, 240_000)

  for (const [place, level, fragment] of fragments) {
    it(`hold, by spec ${place}, ${level} ${fragment.source.replace(jobId, '<job_id>')}`, () => {
      const lines = everything.split('\n').filter((line) => line.includes(`] [${level}] [`))
      expect(lines.some((line) => fragment.test(line))).toBe(true)
    })
  }

  it('have the format of spec 6 in every line', () => {
    const format =
      /^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] \[(DEBUG|INFO|WARNING|ERROR)\] \[0x[0-9a-f]{4}\.\.[0-9a-f]{4}\] \S/
    const lines = everything.trimEnd().split('\n')
    expect(lines.filter((line) => !format.test(line))).toEqual([])
    expect(lines.length).toBeGreaterThan(100)
  })

  it('are JSON in a file of one’s own when asked for by flags', async () => {
    const file = join(world.folder, 'logs', 'node-0.json')
    await world.kill(0)
    world.restartAs(0, [main, 'run', '--log-file', file, '--log-format', 'json'])
    const line = await eventually('it logs', async () => {
      const text = await readFile(file, 'utf8').catch(() => '')
      return text.split('\n').find((one) => one.includes('Heartbeat sent'))
    })
    expect(JSON.parse(line)).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'INFO',
      address: world.nodes[0]!.address,
      message: 'Heartbeat sent to ICL',
    })
  })
})
