import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { canonicalJson } from '../../../lib/canonical-json.ts'
import { writeKeystore } from '../../../lib/host/keystore.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { systemRandom } from '../../../lib/system.ts'
import { showJobs } from '../../../node/commands/jobs.ts'
import { type Given, options } from '../../../node/commands/options.ts'
import { historyPathOf, openHistory } from '../../../node/journal/history.ts'
import { aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { answerJson, startServer } from '../../local-server.ts'
import { shortWaits } from '../../short-waits.ts'
import { runHere } from '../run-here.ts'
import { quietContext } from './context.ts'

const jobId = (digit: string) => `0x${digit.repeat(64)}` as const
const startedAt = 1_800_000_000

/** Signs as the ICL does. */
const event = async (job: string, code: string, signer = key, shownKey = key) => {
  const body = {
    statement: 'svc-reputation-v2' as const,
    id: `${job}:${code}`,
    address,
    jobId: job,
    code,
    at: startedAt + 60,
  }
  return { body, key: shownKey.publicKey, signature: await signer.sign(canonicalJson(body)) }
}

const folder = await mkdtemp(join(tmpdir(), 'svc-jobs-'))
const key = await signingKeyFromSeed(new Uint8Array(32).fill(5))
const stranger = await signingKeyFromSeed(new Uint8Array(32).fill(6))
const wallet = {
  privateKey: `0x${'17'.repeat(32)}`,
  password: 'password',
  scryptN: 4096,
} as const
const address = await writeKeystore(join(folder, 'keystore.json'), wallet, systemRandom)
const icl = await startServer(async (response, { path }) => {
  if (path === '/.well-known/jwks.json') {
    const jwk = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: key.publicKey,
      kid: 'k',
      alg: 'EdDSA',
      use: 'sig',
    }
    return answerJson(response, 200, { keys: [jwk] })
  }
  const first = [
    await event(jobId('a'), 'answer-delivered'),
    await event(jobId('b'), 'forged', stranger),
    await event(jobId('b'), 'invented', stranger, stranger),
  ]
  const second = [await event(jobId('c'), 'offer-lapsed')]
  const isSecond = path.endsWith('?cursor=bmV4dA')
  const page = { events: isSecond ? second : first, next_cursor: isSecond ? null : 'bmV4dA' }
  answerJson(response, 200, page)
})
await writeFile(
  join(folder, 'config.json'),
  JSON.stringify({
    attestation_backend: 'mock',
    icl_endpoint: icl.url,
    cofhe_endpoint: 'http://127.0.0.1:9',
    supported_model_ids: ['openai:x'],
    prices: { 'openai:x': { input: 0.15, output: 0.6 } },
  }),
)
const history = openHistory(historyPathOf(join(folder, 'config.json')))
const job = { role: 'leader', model_id: 'openai:x', fence: 1, started_at: startedAt } as const
const usage = { input_tokens: 1_000, output_tokens: 50 }
history.append({ ...job, jobId: aJobId(jobId('a')), outcome: 'running', usage })
const ended = { ...job, ended_at: startedAt + 75 }
const by = { deliverer: address }
history.append({ ...ended, ...by, jobId: aJobId(jobId('a')), outcome: 'result-posted' })
const reason = 'provider-refused, "twice"'
history.append({ ...ended, jobId: aJobId(jobId('b')), outcome: 'aborted', reason })
const other = nodeAddress('7')
history.append({ ...ended, jobId: aJobId(jobId('d')), outcome: 'match', deliverer: other })
history.close()
await appendFile(historyPathOf(join(folder, 'config.json')), '{"torn')
afterAll(async () => {
  await icl.close()
  await rm(folder, { recursive: true })
})

const jobs = async (given: Partial<Given<'jobs'>>, changes: Record<string, string> = {}) => {
  const environment = { SVC_CONFIG_PATH: join(folder, 'config.json'), ...changes }
  const context = quietContext(environment, { clock: shortWaits })
  await showJobs({ ...options.jobs.parse({}), ...given }, context)
  return context
}

describe('svc-node jobs', () => {
  it("joins the node's own history with the ICL's signed events, over all pages", async () => {
    const { printed, warned } = await jobs({ json: true })
    const { jobs: shown, other_events, icl_asked } = JSON.parse(printed.join(''))
    expect([icl_asked, shown.length]).toEqual([true, 3])
    expect(shown[0]).toMatchObject({
      jobId: jobId('a'),
      outcome: 'result-posted',
      usage: { input_tokens: 1_000, output_tokens: 50 },
      cost: 0.00018,
      events: [{ code: 'answer-delivered' }],
    })
    expect(shown[1]).toMatchObject({ outcome: 'aborted', events: [] })
    expect(other_events).toMatchObject([{ jobId: jobId('c'), code: 'offer-lapsed' }])
    expect(warned.join('\n')).toContain('2 events are not signed by the ICL')
    expect(warned.join('\n')).toContain('1 lines of the history cannot be read')
  })

  it('prints CSV that quotes what needs it', async () => {
    const { printed } = await jobs({ csv: true })
    expect(printed).toEqual([
      'jobId,role,model_id,fence,started_at,ended_at,outcome,reason,deliverer,input_tokens,output_tokens,cost,events',
      `${jobId('a')},leader,openai:x,1,${startedAt},${startedAt + 75},result-posted,,${address},1000,50,0.00018,answer-delivered`,
      `${jobId('b')},leader,openai:x,1,${startedAt},${startedAt + 75},aborted,"provider-refused, ""twice""",,,,,`,
      `${jobId('d')},leader,openai:x,1,${startedAt},${startedAt + 75},match,,${other},,,,`,
    ])
  })

  it('prints lines for people, and no more jobs than asked for', async () => {
    const all = (await jobs({})).printed.join('\n')
    expect(all).toContain('2027-01-15 08:00:00 UTC  0xaaaaaaaa..aaaa  leader')
    expect(all).toContain(
      'result-posted in 1 min 15 s, 1000 + 50 tokens, cost 0.00018; answer-delivered',
    )
    expect(all).toContain(`leader    openai:x  match, ${other} delivered in 1 min 15 s`)
    const last = await jobs({ limit: 1, json: true })
    expect(JSON.parse(last.printed.join('')).jobs).toHaveLength(1)
  })

  it('shows the history when the ICL is away, and says so', async () => {
    const { printed, warned } = await jobs(
      { json: true },
      { SVC_ICL_ENDPOINT: 'http://127.0.0.1:9' },
    )
    expect(JSON.parse(printed.join(''))).toMatchObject({ icl_asked: false, other_events: [] })
    expect(JSON.parse(printed.join('')).jobs).toHaveLength(3)
    expect(warned.join('\n')).toContain("only this machine's own history")
  })

  it.each(['--limit 0', '--csv --json', '--explain --limit 3'])('refuses %s', async (line) => {
    const { code, err } = await runHere(['jobs', ...line.split(' ')], {})
    expect([code, err]).toEqual([2, expect.stringContaining(line.split(' ')[0] ?? '')])
  })
})
