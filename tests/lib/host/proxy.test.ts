import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programOf } from '../../../demo/runtime-programs.ts'
import { runCommand } from '../../../lib/host/run-command.ts'
import { proxyFor } from '../../../lib/proxy.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'

let server: LocalServer
let proxy: LocalServer
beforeAll(async () => {
  server = await startServer((response) => answerJson(response, 200, 'straight'))
  proxy = await startServer((response) => answerJson(response, 200, 'by proxy'))
})
afterAll(() => Promise.all([server.close(), proxy.close()]))

const system = join(import.meta.dirname, '..', '..', '..', 'lib', 'system-fetch.ts')

/** What the fetch of Bun gets for a URL in a process with these variables. */
async function fetched(url: string, env: Record<string, string>): Promise<string> {
  const script = `
    const { systemFetch } = await import(${JSON.stringify(system)})
    const told = (answer) => console.log(answer)
    await systemFetch(new Request(${JSON.stringify(url)})).then(async (response) => told(await response.json()), (error) => told(error.message + ' ' + error.hint))`
  const { stdout } = await runCommand([programOf('bun') ?? 'bun', '-e', script], {
    env,
    timeoutMs: 60_000,
  })
  return stdout.trim()
}

describe('a proxy of the environment', () => {
  it('gets nothing that is for this machine or a private network, and all else', async () => {
    const env = { HTTP_PROXY: proxy.url }
    expect(await fetched(`${server.url}/`, env)).toBe('straight')
    expect(await fetched(server.url.replace('127.0.0.1', 'localhost'), env)).toBe('straight')
    expect(proxy.seen).toEqual([])
    expect(await fetched('http://svc.example/', env)).toBe('by proxy')
  })

  it('is named when it fails, without its password', async () => {
    const env = { HTTP_PROXY: 'http://user:secret@127.0.0.1:9' }
    expect(await fetched('http://svc.example/', env)).toBe(
      'is reached through the proxy 127.0.0.1:9 (HTTP_PROXY), and that failed (ECONNREFUSED) Check the proxy, or add svc.example to NO_PROXY.',
    )
  })

  it('is found as the runtime finds it', () => {
    const env = {
      HTTPS_PROXY: 'proxy.example:3128',
      NO_PROXY: 'a.example, .b.example,c.example:444',
    }
    const name = 'the proxy proxy.example:3128 (HTTPS_PROXY)'
    expect(proxyFor('https://other.example', env)).toBe(name)
    expect(proxyFor('https://c.example', env)).toBe(name)
    expect(proxyFor('http://other.example', env)).toBeUndefined()
    for (const host of [
      'a.example',
      'x.a.example',
      'x.b.example',
      'c.example:444',
      '10.1.2.3',
      'icl',
    ]) {
      expect(proxyFor(`https://${host}`, env)).toBeUndefined()
    }
    expect(proxyFor('https://other.example', { ...env, NO_PROXY: '*' })).toBeUndefined()
  })
})
