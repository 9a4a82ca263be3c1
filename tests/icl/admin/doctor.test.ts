import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkBlobs } from '../../../icl/start/admin-doctor-remote.ts'
import { parseSettings } from '../../../icl/start/settings.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { systemClock } from '../../../lib/system.ts'
import { startTestChain } from '../../contracts/test-chain.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { adminIn } from './admin-store.ts'

const coordinator = 1
const stranger = 7

const servers: LocalServer[] = []
const chain = await startTestChain()
const folder = await mkdtemp(join(tmpdir(), 'svc-icl-doctor-'))
const file = join(folder, 'icl.db')
await (await openSqliteStore(file)).close()
const environment: Record<string, string> = {
  SVC_ICL_PUBLIC_URL: 'http://127.0.0.1:1',
  // Nobody listens there.
  SVC_ICL_PORT: '1',
  SVC_ICL_SECRET: 'ab'.repeat(32),
  SVC_ICL_DATABASE_URL: `sqlite:${file}`,
  SVC_ICL_BLOBS: 'store',
  SVC_ICL_RPC_URL: chain.anvil.rpcUrl,
  SVC_ICL_CHAIN_ID: String(chain.anvil.chainId),
  SVC_ICL_COORDINATOR_KEY: chain.anvil.accounts[coordinator]!.privateKey,
  SVC_ICL_NODE_REGISTRY: chain.nodeRegistry,
  SVC_ICL_PROMPT_KEY_STORE: chain.promptKeyStore,
  SVC_ICL_RESULT_REGISTRY: chain.resultRegistry,
  SVC_ICL_MOCK_ATTESTATION_KEY: '07'.repeat(16),
}
afterAll(async () => {
  for (const server of servers) await server.close()
  await chain.stop()
  await rm(folder, { recursive: true })
})

const serve = async (...args: Parameters<typeof startServer>): Promise<string> => {
  const server = await startServer(...args)
  servers.push(server)
  return server.url
}

async function doctor(changes: Record<string, string | undefined> = {}) {
  const { code, text, error } = await adminIn({ ...environment, ...changes }, ['doctor', '--json'])
  expect(error).toBe('')
  const { checks } = JSON.parse(text) as { checks: readonly Check[] }
  const having = (status: Check['status']) =>
    checks.filter((check) => check.status === status).map(({ name }) => name)
  const find = (name: string) => checks.filter((check) => check.name === name)
  return { code, checks, failed: having('failed'), skipped: having('skipped'), find }
}

describe('admin doctor', () => {
  it('finds nothing wrong with a sound deployment, and looks at all of it', async () => {
    const { code, failed, skipped, checks, find } = await doctor()
    expect([code, failed, skipped]).toEqual([0, [], ['file', 'webhooks', 'public url']])
    const names = ['settings', 'attestation', 'disk', 'store', 'file', 'chain', 'contracts']
    names.push('coordinator', 'clock', 'coprocessor', 'blobs', 'webhooks', 'public url')
    expect(checks.map(({ name }) => name)).toEqual(names)
    expect(find('coordinator')[0]?.detail).toMatch(/^0x[0-9a-fA-F]{40} has \d+(\.\d+)? ETH/)
  })

  it('prints a line for each, with the remedy of what failed', async () => {
    const { code, text } = await adminIn({ ...environment, SVC_ICL_CHAIN_ID: '1' }, ['doctor'])
    expect(code).toBe(1)
    expect(text).toMatch(
      /^FAIL {4}chain {8}127\.0\.0\.1:\d+ is chain 31337, and the settings say 1$/m,
    )
    expect(text).toMatch(/^ {8}-> Correct SVC_ICL_RPC_URL/m)
    expect(text).toMatch(/\n\d of 13 checks failed\.$/)
  })

  it('shows what an RPC says on one line, without what controls a terminal', async () => {
    const message = 'no\u001b[2J\u009b1;1H\nok      chain'
    const rpc = await serve((response) =>
      answerJson(response, 200, { jsonrpc: '2.0', id: 1, error: { code: -32603, message } }),
    )
    for (const flags of [[], ['--json']]) {
      const away = { ...environment, SVC_ICL_RPC_URL: rpc }
      const { text } = await adminIn(away, ['doctor', ...flags])
      expect(text).toContain('fails inside')
      for (const part of ['\u001b', '\u009b', '\nok      chain']) expect(text).not.toContain(part)
    }
  })

  it('names every missing setting at once, and skips what needs them', async () => {
    const { code, failed, skipped, find } = await doctor({
      SVC_ICL_SECRET: undefined,
      SVC_ICL_RPC_URL: undefined,
    })
    expect([code, failed, skipped.length]).toEqual([1, ['settings'], 12])
    expect(find('settings')[0]?.detail).toContain('SVC_ICL_SECRET is missing')
    expect(find('settings')[0]?.detail).toContain('SVC_ICL_RPC_URL is missing')
  })

  it('warns of settings that are probably not meant, and of files that cannot be read', async () => {
    const { code, find } = await doctor({
      SVC_ICL_CONSOLE: 'token',
      SVC_ICL_TMP_ROOTS: 'x',
      SVC_ICL_CLIENT_ALLOW_LIST: join(folder, 'nowhere'),
    })
    const text = find('settings').map(({ detail }) => detail)
    expect([code, text.length]).toEqual([1, 3])
    expect(text[0]).toContain('the file cannot be read')
    expect(text[2]).toContain('SVC_ICL_TMP_ROOTS is not a setting of the ICL')
  })

  it('says that no node could attest', async () => {
    const { failed, find } = await doctor({ SVC_ICL_MOCK_ATTESTATION_KEY: undefined })
    expect([failed, find('attestation')[0]?.remedy]).toEqual([
      ['attestation'],
      'Set SVC_ICL_TPM_ROOTS, or SVC_ICL_MOCK_ATTESTATION_KEY for development.',
    ])
  })

  it('takes a database that is still to be made, and refuses what is none', async () => {
    const later = join(folder, 'new.db')
    const fresh = await doctor({ SVC_ICL_DATABASE_URL: `sqlite:${later}` })
    expect([fresh.code, fresh.find('store')[0]?.detail]).toEqual([
      0,
      `there is none yet: the first start makes ${later}`,
    ])
    const lost = await doctor({ SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'none', 'new.db')}` })
    expect(lost.failed).toEqual(['store'])
    const text = join(folder, 'text.db')
    await writeFile(text, 'not a database, but more than a hundred bytes of text. '.repeat(20))
    const foreign = await doctor({ SVC_ICL_DATABASE_URL: `sqlite:${text}` })
    expect([foreign.code, foreign.failed]).toEqual([1, ['store']])
  })

  it('opens the file that a MongoDB follows which is away, or says whether one can be made', async () => {
    const withCopy = async (copy: string) => {
      const url = 'mongodb://127.0.0.1:1/svc'
      const found = await doctor({ SVC_ICL_DATABASE_URL: url, SVC_ICL_LOCAL_COPY: copy })
      return { ...found, copy: found.find('file')[0] }
    }
    const off = await withCopy('off')
    expect([off.failed, off.copy?.status, off.find('disk')[0]?.status]).toEqual([
      ['store'],
      'skipped',
      'skipped',
    ])
    // A running ICL has it open.
    const name = join(folder, 'copy.db')
    const held = await openSqliteStore(name)
    const there = await withCopy(name)
    await held.close()
    expect([there.failed, there.copy?.detail]).toEqual([
      ['store'],
      'reachable, takes saves, 0 effects to deliver',
    ])
    expect(there.find('disk')[0]?.detail).toContain(`${folder} has `)
    const later = join(folder, 'not', 'yet', 'copy.db')
    const fresh = await withCopy(later)
    expect([fresh.failed, fresh.copy?.detail]).toEqual([
      ['store'],
      `there is none yet: the first start makes ${later}`,
    ])
    const text = join(folder, 'text.db')
    for (const wrong of [text, join(text, 'copy.db')]) {
      expect((await withCopy(wrong)).failed).toContain('file')
    }
  })

  it('finds an RPC that is away, contracts that are not there, and a stranger as coordinator', async () => {
    const away = await doctor({ SVC_ICL_RPC_URL: 'http://127.0.0.1:1' })
    expect(away.failed).toContain('chain')
    expect(away.skipped).toEqual(expect.arrayContaining(['contracts', 'coordinator', 'clock']))
    const several = `http://127.0.0.1:1,${chain.anvil.rpcUrl}`
    const both = (await doctor({ SVC_ICL_RPC_URL: several })).find('chain')
    expect(both.map(({ status }) => status)).toEqual(['failed', 'ok'])
    const empty = await doctor({ SVC_ICL_PROMPT_KEY_STORE: `0x${'ee'.repeat(20)}` })
    expect([empty.code, empty.failed]).toEqual([1, ['contracts']])
    expect(empty.find('contracts')[0]?.detail).toContain('PromptKeyStore: there is no contract')
    const key = chain.anvil.accounts[stranger]!.privateKey
    const other = await doctor({ SVC_ICL_COORDINATOR_KEY: key })
    expect(other.failed).toEqual(['coordinator', 'coordinator'])
    const poor = await doctor({ SVC_ICL_COORDINATOR_KEY: `0x${'77'.repeat(32)}` })
    expect(poor.find('coordinator').at(-1)?.remedy).toBe('Send money to it on this chain.')
  })

  it('finds an RPC without eth_getLogs, and blames no address for it', async () => {
    const rpc = await serve(async (response, { body }) => {
      const { id, method } = JSON.parse(body)
      const error = { code: -32_601, message: 'no such method' }
      if (method === 'eth_getLogs') return answerJson(response, 200, { jsonrpc: '2.0', id, error })
      const headers = { 'content-type': 'application/json' }
      const passed = await fetch(chain.anvil.rpcUrl, { method: 'POST', headers, body })
      answerJson(response, 200, await passed.json())
    })
    const { failed, find } = await doctor({ SVC_ICL_RPC_URL: rpc })
    expect([failed, find('contracts')[0]?.remedy]).toEqual([
      ['contracts'],
      'Name an RPC that answers eth_getLogs in SVC_ICL_RPC_URL.',
    ])
  })

  it('finds a Kubo that does not respond', async () => {
    const { code, failed } = await doctor({ SVC_ICL_BLOBS: 'kubo:http://127.0.0.1:1' })
    expect([code, failed]).toEqual([75, ['blobs']])
  })

  it('says where a start would put blobs that no setting gives a place', async () => {
    const settings = parseSettings({ ...environment, SVC_ICL_BLOBS: '' })
    const store = createMemoryStore()
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const look = () =>
      checkBlobs(settings, { store, clock: systemClock, log, localKubo: 'http://127.0.0.1:1' })
    const detail = 'go to store: Kubo cannot be reached (http://127.0.0.1:1)'
    expect(await look()).toMatchObject({ status: 'ok', detail })
    const earlier = { kind: 'blob', cid: 'kubo:c', uploader: 'kubo-node', size: 1 } as const
    await store.save({ ...earlier, bytes: new Uint8Array(), until: systemClock.now() + 60_000 })
    expect(await look()).toMatchObject({ status: 'failed', retryable: true })
  })

  it('reaches the servers that messages wait for', async () => {
    const webhooks = { SVC_ICL_WEBHOOKS: 'on', SVC_ICL_WEBHOOKS_ALLOW_PRIVATE: 'true' }
    const url = await serve((response) => answerJson(response, 200, {}))
    const store = await openSqliteStore(join(folder, 'webhooks.db'))
    const job = sampleJob()
    const save = (to: string, base: number) =>
      store.save({
        kind: 'job',
        base,
        job: {
          ...job,
          webhook: { url: to, state: 'waiting', attempts: 0 },
          outbox: [{ id: 1, effect: { type: 'notify', afterMs: 0 }, attempts: 1, dueAt: 1 }],
        },
      })
    const look = () =>
      doctor({ ...webhooks, SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'webhooks.db')}` })
    try {
      await save(`${url}/told`, 0)
      expect((await look()).find('webhooks')[0]?.detail).toBe('servers to notify: 1')
      await save('http://127.0.0.1:1/told', 1)
      const { code, find } = await look()
      expect([code, find('webhooks')[0]?.detail]).toEqual([
        75,
        expect.stringContaining('127.0.0.1:1: '),
      ])
    } finally {
      await store.close()
    }
  })

  it('asks for the public name of an ICL that runs', async () => {
    const alive = await serve((response) => answerJson(response, 200, { status: 'ok' }))
    const { failed, find } = await doctor({ SVC_ICL_PORT: new URL(alive).port })
    expect([failed, find('public url')[0]?.remedy]).toEqual([
      ['public url'],
      'Check DNS, proxy and certificate of SVC_ICL_PUBLIC_URL: callers use this name.',
    ])
  })
})
