import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import type { Job } from '../../../icl/rules/job.ts'
import { newWebhook, webhookRetriesMs } from '../../../icl/rules/webhook.ts'
import { createWebhookSender } from '../../../icl/start/webhook-sender.ts'
import type { WebhookAnswer, WebhookMessage, Webhooks } from '../../../icl/webhooks/webhooks.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { aJobId } from '../../branded.ts'
import { codeOf } from '../../code-of.ts'
import { startServer } from '../../local-server.ts'
import { holdTime } from '../../virtual-clock.ts'
import { useReplicas } from '../replica-set.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { answerJob, runJob } from '../run-job.ts'
import { submit } from '../test-client.ts'
import { createShared, createTestIcl, joinNode, joinNodes, type TestIcl } from '../test-icl.ts'

const url = 'https://receiver.example/hook?token=of-the-receiver'
const yes = ['yes', 'yes', 'yes'] as const

let running: TestIcl[] = []
afterEach(async () => {
  for (const icl of running) await icl.stop()
  running = []
})

/** Receivers in memory that answer as a test says. */
function receivers(answer: (count: number) => WebhookAnswer | Promise<WebhookAnswer>) {
  const sent: WebhookMessage[] = []
  const webhooks: Webhooks = {
    allowPrivate: false,
    send: async (message) => {
      sent.push(message)
      return answer(sent.length)
    },
  }
  return { webhooks, sent }
}

async function withNodes(webhooks: Webhooks | undefined) {
  const icl = await createTestIcl({ webhooks })
  running.push(icl)
  const nodes = await joinNodes(icl, 3)
  return { icl, nodes }
}

describe('a settled job', () => {
  it('is told to the server that its client named, in a message that nobody else can make', async () => {
    const server = await startServer((response) => {
      response.writeHead(204).end()
    })
    const sender = createWebhookSender({ allowPrivate: true, timeoutMs: 60_000 })
    const webhooks: Webhooks = {
      ...sender,
      send: async (message, signal) => {
        const go = holdTime()
        return sender.send(message, signal).finally(go)
      },
    }
    const { icl, nodes } = await withNodes(webhooks)
    const { job, view } = await runJob(icl, nodes, yes, { webhook: `${server.url}/hook` })
    while ((await view()).webhook?.state === 'waiting') await icl.clock.advance(250)
    await server.close()
    expect((await view()).webhook).toEqual({ state: 'delivered', attempts: 1, last_status: 204 })
    const [seen, ...others] = server.seen
    expect(others).toEqual([])
    expect([seen?.method, seen?.path]).toEqual(['POST', '/hook'])
    const { receipt_hash: receiptHash, commit_tx: commitTx } = await view()
    expect(JSON.parse(seen!.body)).toEqual({
      type: 'inference.settled',
      timestamp: expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:.]+Z$/),
      data: {
        jobId: job.jobId,
        icl: 'https://icl.test',
        status: 'accepted',
        reason: 'quorum-agreed',
        receipt_hash: receiptHash,
        commit_tx: commitTx,
      },
    })
    expect(commitTx).toMatch(/^0x/)

    const headers = seen!.headers as Record<string, string>
    expect(headers['webhook-id']).toBe(`msg_${job.jobId.slice(2)}`)
    // The virtual clock is years ahead, and the library wants messages of this minute: the signature is what counts.
    const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000)
    const signature = (secret: string) =>
      new Webhook(secret).sign(headers['webhook-id']!, sentAt, seen!.body)
    expect(signature(job.webhook_secret!)).toBe(headers['webhook-signature']!)
    const other = await submit(icl, { webhook: 'http://127.0.0.1:9/', client: 'another' })
    expect(signature(other.webhook_secret!)).not.toBe(headers['webhook-signature']!)
  })

  it('is told whatever became of it', async () => {
    const { webhooks, sent } = receivers(() => ({ status: 200 }))
    const { icl } = await withNodes(webhooks)
    const { api, jobId, readToken } = await submit(icl, { webhook: url })
    expect(sent).toEqual([])
    await api.cancelJob({ params: { jobId } }, { readToken })
    await icl.clock.advance(500)
    expect(sent.map(({ body }) => JSON.parse(body).data)).toEqual([
      { jobId, icl: 'https://icl.test', status: 'cancelled', reason: 'cancelled-by-client' },
    ])
  })

  it('is told that nobody delivered what its nodes agreed on', async () => {
    const { webhooks, sent } = receivers(() => ({ status: 200 }))
    const { icl, nodes } = await withNodes(webhooks)
    const { view } = await answerJob(icl, nodes, yes, { webhook: url })
    await icl.clock.advance(3 * 46_000)
    expect((await view()).webhook?.state).toBe('delivered')
    const [data, ...more] = sent.map(({ body }) => JSON.parse(body).data)
    expect([data.status, data.reason, more]).toEqual(['disputed', 'undelivered', []])
  })

  it('is told without its transaction when the chain takes none for a minute', async () => {
    const { webhooks, sent } = receivers(() => ({ status: 200 }))
    const { icl, nodes } = await withNodes(webhooks)
    const { commitResults } = icl.chain
    icl.chain.commitResults = async () => {
      throw new Error('the chain is away')
    }
    const { view } = await runJob(icl, nodes, yes, { webhook: url })
    await icl.clock.advance(55_000)
    expect(sent).toEqual([])
    await icl.clock.advance(35_000)
    expect(sent).toHaveLength(1)
    const { data } = JSON.parse(sent[0]!.body)
    expect([data.status, 'receipt_hash' in data, 'commit_tx' in data]).toEqual([
      'accepted',
      true,
      false,
    ])
    icl.chain.commitResults = commitResults
    await icl.clock.advance(60_000)
    expect((await view()).commit_tx).toMatch(/^0x/)
    expect(sent).toHaveLength(1)
  })

  it('is told again with the same id while its server is away', async () => {
    const { webhooks, sent } = receivers((count) =>
      count < 4 ? { error: 'unreachable' } : { status: 200 },
    )
    const { icl, nodes } = await withNodes(webhooks)
    const { view } = await runJob(icl, nodes, yes, { webhook: url })
    await icl.clock.advance(2_000)
    expect((await view()).webhook).toEqual({
      state: 'waiting',
      attempts: 1,
      last_error: 'unreachable',
    })
    for (const ms of webhookRetriesMs.slice(0, 3)) await icl.clock.advance(1.2 * ms)
    expect((await view()).webhook).toEqual({ state: 'delivered', attempts: 4, last_status: 200 })
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1)
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1)
    expect(new Set(sent.map(({ sentAt }) => sentAt)).size).toBe(4)
    const waits = sent.slice(1).map(({ sentAt }, index) => sentAt - sent[index]!.sentAt)
    for (const [index, ms] of waits.entries()) {
      expect(ms).toBeGreaterThanOrEqual(webhookRetriesMs[index]!)
      expect(ms).toBeLessThan(1.1 * webhookRetriesMs[index]! + 1_000)
    }
  })

  it('is told no more to a server that wants none', async () => {
    const { webhooks, sent } = receivers(() => ({ status: 410 }))
    const { icl, nodes } = await withNodes(webhooks)
    const { job, view } = await runJob(icl, nodes, yes, { webhook: url })
    await icl.clock.advance(60_000)
    expect((await view()).webhook?.state).toBe('gone')
    expect(sent).toHaveLength(1)
    expect((await icl.deps.store.findJob(job.jobId))?.document.outbox).toEqual([])
  })

  it('is told nobody when webhooks were switched off meanwhile', async () => {
    const shared = createShared()
    const { webhooks, sent } = receivers(() => ({ status: 200 }))
    const a = await replicas.start(shared, 'a', { webhooks })
    await shared.clock.advance(6_000)
    for (const name of ['n1', 'n2', 'n3']) await joinNode(a, name)
    const { jobId, readToken } = await submit(a, { webhook: url })
    await replicas.stop(a)
    const b = await replicas.start(shared, 'b')
    await b.api().cancelJob({ params: { jobId } }, { readToken })
    await shared.clock.advance(6_000)
    const { webhook } = await b.api().getJob({ params: { jobId } }, { readToken })
    expect(webhook).toEqual({ state: 'given-up', attempts: 1, last_error: 'webhooks-off' })
    expect(sent).toEqual([])
  })

  const replicas = useReplicas()

  it('is told by another replica when the one that was at it dies, with the same id', async () => {
    const shared = createShared()
    const never = new Promise<WebhookAnswer>(() => {})
    const first = receivers(() => never)
    const second = receivers(() => ({ status: 200 }))
    const a = await replicas.start(shared, 'a', { webhooks: first.webhooks })
    const b = await replicas.start(shared, 'b', { webhooks: second.webhooks })
    await shared.clock.advance(6_000)
    const nodes = await joinNodes(a, 3)
    const { job } = await runJob(a, nodes, yes, { webhook: url })
    await shared.clock.advance(2_000)
    expect([first.sent.length, second.sent.length]).toEqual([1, 0])
    replicas.kill(a)
    await shared.clock.advance(20_000)
    expect(second.sent.map(({ id, body }) => [id, body])).toEqual(
      first.sent.map(({ id, body }) => [id, body]),
    )
    const { jobId, readToken } = job
    const { webhook } = await b.api().getJob({ params: { jobId } }, { readToken })
    expect(webhook?.state).toBe('delivered')
  })

  it('is told although another server answers nobody, which holds up nothing else either', async () => {
    const never = new Promise<WebhookAnswer>(() => {})
    const sent: string[] = []
    const { icl, nodes } = await withNodes({
      allowPrivate: false,
      send: async ({ url: to }) => {
        sent.push(new URL(to).host)
        return to.includes('slow') ? never : { status: 200 }
      },
    })
    const cancel = async (client: string, webhook: string) => {
      const { api, jobId, readToken } = await submit(icl, { client, webhook })
      await api.cancelJob({ params: { jobId } }, { readToken })
      await icl.clock.advance(300)
    }
    for (let at = 0; at < 6; at++) await cancel(`c${at}`, 'https://slow.example/')
    await cancel('quick', 'https://quick.example/')
    expect(sent.filter((host) => host === 'slow.example')).toHaveLength(4)
    expect(sent.filter((host) => host === 'quick.example')).toHaveLength(1)
    const { view } = await runJob(icl, nodes, yes)
    await icl.clock.advance(2_000)
    expect((await view()).commit_tx).toMatch(/^0x/)
  })

  it('is told although hundreds wait for a server that answers nobody', async () => {
    const clock: { sleep?: TestIcl['clock']['sleep'] } = {}
    const sent: string[] = []
    const { icl } = await withNodes({
      allowPrivate: false,
      send: async ({ url: to }) => {
        sent.push(new URL(to).host)
        if (!to.includes('slow')) return { status: 200 }
        await clock.sleep?.(10_000)
        return { error: 'timeout' }
      },
    })
    clock.sleep = icl.clock.sleep
    let count = 0
    const settled = (to: string): Promise<boolean> => {
      const id: JobId = aJobId(`0x${String(count++).padStart(64, '0')}`)
      const dueAt = icl.clock.now()
      const outbox = [
        { id: 0, effect: { type: 'notify', afterMs: 0 }, attempts: 0, dueAt },
      ] as const
      const job = { ...sampleJob({ id, webhook: newWebhook(to) }), fillAt: undefined, outbox }
      return icl.deps.store.save({
        kind: 'job',
        job: { ...job, phase: 'cancelled', settledAt: dueAt },
        base: 0,
      })
    }
    for (let times = 0; times < 1_000; times++) await settled('https://slow.example/')
    await icl.clock.advance(5_000)
    await settled('https://quick.example/')
    await icl.clock.advance(5_000)
    expect(sent.filter((host) => host === 'quick.example')).toHaveLength(1)
  })

  it('hides no result that waits for the chain, however many wait for their servers', async () => {
    const { icl } = await withNodes(receivers(() => ({ status: 500 })).webhooks)
    const waiting = (count: number, changes: Partial<Job>): Promise<boolean> => {
      const id: JobId = aJobId(`0x${String(count).padStart(64, '0')}`)
      const dueAt = icl.clock.now() + 3_600_000
      const outbox = [
        { id: 0, effect: { type: 'notify', afterMs: 0 }, attempts: 3, dueAt },
      ] as const
      const job = { ...sampleJob({ id, webhook: newWebhook(url) }), fillAt: undefined, outbox }
      return icl.deps.store.save({
        kind: 'job',
        job: { ...job, phase: 'accepted', ...changes },
        base: 0,
      })
    }
    for (let count = 0; count < 250; count++) await waiting(count, {})
    const dueAt = icl.clock.now() + 3_600_000
    await waiting(250, {
      commitError: 'the chain takes none',
      outbox: [{ id: 0, effect: { type: 'commit-result' }, attempts: 3, dueAt }],
    })
    const { reasons } = await icl.clock.until(icl.api().getReadiness())
    expect(reasons).toContain(
      'results that wait to be committed: 1 or more; last try: the chain takes none',
    )
  })
})

describe('a submission that names a server', () => {
  it('is refused where webhooks are off, and where the server is not of the internet', async () => {
    const off = await withNodes(undefined)
    await expect(submit(off.icl, { webhook: url })).rejects.toMatchObject({
      code: 'webhooks-off',
      message: expect.stringContaining('This ICL sends no webhooks'),
    })
    const on = await withNodes(receivers(() => ({ status: 200 })).webhooks)
    for (const to of [
      'http://receiver.example/',
      'https://169.254.169.254/',
      'https://a@b.example/',
    ]) {
      expect(await codeOf(submit(on.icl, { webhook: to }))).toBe('webhook-refused')
    }
  })

  it('gets the same secret each time for a URL, and another for another URL or client', async () => {
    const { icl } = await withNodes(receivers(() => ({ status: 200 })).webhooks)
    const first = await submit(icl, { webhook: url })
    expect(first.webhook_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const repeated = await first.api.submitJob({ body: first.body })
    expect(repeated).toEqual({
      jobId: first.jobId,
      status: repeated.status,
      read_token: first.readToken,
      webhook_secret: first.webhook_secret,
    })
    const secretOf = async (options: Parameters<typeof submit>[1]) => {
      const { api, jobId, readToken, webhook_secret: secret } = await submit(icl, options)
      // The nodes have two places each.
      await api.cancelJob({ params: { jobId } }, { readToken })
      return secret
    }
    const secrets = [
      await secretOf({ webhook: url }),
      await secretOf({ webhook: 'https://other.example/' }),
      await secretOf({ webhook: url, client: 'another' }),
      await secretOf({}),
    ]
    expect(secrets[0]).toBe(first.webhook_secret!)
    expect(new Set(secrets).size).toBe(4)
    expect(secrets[3]).toBeUndefined()
  })

  it('is another one when it names another server', async () => {
    const { icl } = await withNodes(receivers(() => ({ status: 200 })).webhooks)
    const { api, body } = await submit(icl, { webhook: url })
    const changed = { ...body, webhook: { url: 'https://other.example/' } }
    expect(await codeOf(api.submitJob({ body: changed }))).toBe('job-conflict')
  })

  it('leaves its secret in no store, and its URL in neither log nor answer', async () => {
    const { icl, nodes } = await withNodes(receivers(() => ({ status: 500 })).webhooks)
    const { job, view } = await runJob(icl, nodes, yes, { webhook: url })
    await icl.clock.advance(10_000)
    const text = (value: unknown) =>
      JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part))
    const kept = text(await Array.fromAsync(icl.deps.store.scan()))
    const secret = job.webhook_secret!.replace('whsec_', '')
    // The URL is kept, and shows that the search finds what is there.
    expect([kept.includes('token=of-the-receiver'), kept.includes(secret)]).toEqual([true, false])
    const said = `${icl.logged.join('\n')}${text(await view())}`
    expect([
      said.includes(job.jobId),
      said.includes('of-the-receiver'),
      said.includes(secret),
    ]).toEqual([true, false, false])
  })
})
