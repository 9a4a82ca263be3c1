import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { jobGas } from '../../icl/operations/view-front.ts'
import { createConsoleIcl } from '../browser/console-world.ts'
import { createTestIcl, type TestIcl } from './test-icl.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')

let icl: TestIcl
beforeAll(async () => {
  icl = await createTestIcl()
})
afterAll(() => icl.stop())

const ask = (app: ReturnType<typeof createApp>, accept: string) =>
  app.fetch(new Request('https://icl.test/', { headers: { accept } }), {
    peerAddress: '192.0.2.1',
  })

describe('the front page', () => {
  it('tells browsers what runs here and how to ask, without a script', async () => {
    const answer = await ask(createApp(icl.deps), 'text/html,application/xhtml+xml,*/*;q=0.8')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=UTF-8',
    ])
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    )
    const page = await answer.text()
    expect(page).toContain('Up, with restrictions')
    expect(page).toContain('the store is in memory: a restart forgets everything')
    expect(page).toContain('No active node serves a model now.')
    expect(page).toContain('svc-node init --icl-endpoint https://icl.test')
    expect(page).not.toContain('<script')
  })

  it('gives every other caller the same as JSON', async () => {
    const app = createApp(icl.deps)
    for (const accept of ['application/json', '*/*', 'text/html;q=0.5, application/json']) {
      const answer = await ask(app, accept)
      expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'accept'])
      const { version, chain_id } = icl.deps.network
      expect(await answer.json()).toMatchObject({
        ...{ version, chain_id, public_url: 'https://icl.test', ready: true },
        reasons: ['the store is in memory: a restart forgets everything'],
        ...{ nodes: { certified: 0, active: 0 }, models: [] },
        ask: { gateway: 'SVC_ICL_ENDPOINT=https://icl.test npm run gateway' },
      })
    }
  })

  it('is there while the store takes no saves, and says so', async () => {
    const status = () => ({ connected: true, writable: false, reasons: ['<b>no</b> room'] })
    const app = createApp({ ...icl.deps, store: { ...icl.deps.store, status } })
    expect(await (await ask(app, 'application/json')).json()).toMatchObject({
      ready: false,
      reasons: ['the store takes no saves', '<b>no</b> room'],
    })
    const page = await (await ask(app, 'text/html')).text()
    expect(page).toContain('Not ready for jobs')
    expect(page).toContain('<li>the store takes no saves</li><li>&lt;b&gt;no&lt;/b&gt; room</li>')
  })

  it('names the models, those that too few nodes serve, and what is known while the chain is away', async () => {
    const own = await createConsoleIcl({ nodes: 5, jobs: 0 })
    const app = createApp(own.deps)
    const read = async (accept: string) =>
      (await own.clock.until(Promise.resolve(ask(app, accept)))).text()
    const page = await read('text/html')
    expect(page).toContain('5 <small>active of 5</small>')
    expect(page).toContain('<code>openai:gpt-5-mini</code></td><td>5</td>')
    expect(page).toContain('<code>openai:gpt-5</code></td><td>1 <small>a job needs 3</small></td>')
    expect(page.match(/a job needs 3/g)).toHaveLength(1)
    expect(page).toContain('--model openai:gpt-5-mini ')
    own.chain.down = new Error('no chain')
    await own.clock.advance(5_000)
    const view = JSON.parse(await read('*/*'))
    expect(view).toMatchObject({ ready: true, nodes: null, models: null })
    expect(view.reasons.join()).toContain('the chain does not respond')
    expect(await read('text/html')).toContain('The nodes cannot be counted now')
    await own.stop()
  })

  it('says whether only some clients may submit jobs, and counts towards the limit of an address', async () => {
    const rates = { address: { requests: 1, seconds: 60 } }
    const network = { ...icl.deps.network, client_allow_list: true }
    const app = createApp({ ...icl.deps, network, access: { ...icl.deps.access, rates } })
    const limited = 'Only clients that the operator named may submit jobs.'
    expect(await (await ask(app, 'text/html')).text()).toContain(limited)
    expect((await ask(app, 'text/html')).status).toBe(429)
    expect(await (await ask(createApp(icl.deps), 'text/html')).text()).not.toContain(limited)
  })

  it('names the gas that docs/contracts.md measured', async () => {
    const table = await readFile(join(docs, 'contracts.md'), 'utf8')
    const rows = new Map(
      [...table.matchAll(/^\| (.+?) +\| ([\d,]+) +\|$/gm)].map(([, call, gas]) => [
        call?.replaceAll('`', ''),
        Number(gas?.replaceAll(',', '')),
      ]),
    )
    for (const { call, gas } of jobGas) expect([call, rows.get(call)]).toEqual([call, gas])
  })
})

it('asks search engines to read no page', async () => {
  const answer = await icl.fetch(new Request('https://icl.test/robots.txt'))
  expect([answer.status, await answer.text()]).toEqual([200, 'User-agent: *\nDisallow: /\n'])
})
