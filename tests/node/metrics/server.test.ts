import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { hostname } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { serveMetrics } from '../../../node/metrics/server.ts'
import { MetricsAddress } from '../../../node/metrics-address.ts'

// Many systems have their own name in /etc/hosts with a loopback address.
const own = await lookup(hostname()).catch(() => ({ address: '' }))
const isOwnLoopback = /^127\./.test(own.address)

const closes: (() => void)[] = []
afterEach(() => {
  for (const close of closes.splice(0)) close()
})

async function serve(at: string) {
  const server = await serveMetrics(MetricsAddress.parse(at), async () => 'svc_node_up 1\n')
  closes.push(server.close)
  return new URL(server.url)
}

/** The status of a request that names this host. */
const statusOf = ({ hostname, port }: URL, host: string, path = '/metrics', method = 'GET') =>
  new Promise<number | undefined>((resolve, reject) => {
    request({ hostname, port, path, method, headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .once('error', reject)
      .end()
  })

describe('the server of metrics', () => {
  it('serves the text of Prometheus on loopback', async () => {
    const url = await serve('0')
    expect(url.hostname).toBe('127.0.0.1')
    const response = await fetch(url)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(await response.text()).toBe('svc_node_up 1\n')
  })

  it('keeps no connection after its answer, so that those who wait leave room for others', async () => {
    const url = await serve('0')
    const asked = request(url, { agent: new Agent({ keepAlive: true }) }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    expect(response.resume().headers.connection).toBe('close')
  })

  it('refuses the hosts of others, other paths and other methods', async () => {
    const url = await serve('127.0.0.1:0')
    expect(await statusOf(url, `localhost:${url.port}`)).toBe(200)
    expect(await statusOf(url, `[::1]:${url.port}`)).toBe(200)
    expect(await statusOf(url, `rebound.example:${url.port}`)).toBe(421)
    expect(await statusOf(url, 'a b')).toBe(421)
    expect(await statusOf(url, 'localhost', '/')).toBe(404)
    expect(await statusOf(url, 'localhost', '/metrics', 'POST')).toBe(405)
  })

  it.skipIf(!isOwnLoopback)('refuses the hosts of others at a name of loopback', async () => {
    const { port } = await serve(`${hostname()}:0`)
    const url = new URL(`http://${own.address}:${port}`)
    expect(await statusOf(url, 'rebound.example')).toBe(421)
    expect(await statusOf(url, hostname())).toBe(200)
    expect(await statusOf(url, 'localhost')).toBe(200)
  })

  it('takes any host at an address that other machines reach', async () => {
    const { port } = await serve('0.0.0.0:0')
    expect(await statusOf(new URL(`http://127.0.0.1:${port}`), 'node-1.example')).toBe(200)
  })

  it('says that a port is taken, and how to choose another', async () => {
    const { port } = await serve('127.0.0.1:0')
    await expect(serve(`127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'metrics-not-served',
      message: expect.stringContaining(`127.0.0.1:${port} (EADDRINUSE)`),
      hint: expect.stringContaining('--metrics'),
      retryable: true,
    })
  })

  it('may be tried again where the machine does not have the address yet', async () => {
    await expect(serve('192.0.2.1:0')).rejects.toMatchObject({
      code: 'metrics-not-served',
      message: expect.stringContaining('EADDRNOTAVAIL'),
      retryable: true,
    })
  })

  it.each(['999.1.1.1:0', '[::1::2]:0'])('cannot listen at %s, and says so', async (at) => {
    await expect(serve(at)).rejects.toMatchObject({
      code: 'metrics-not-served',
      hint: expect.stringContaining('--metrics'),
    })
  })

  it.each(['', 'x', '127.0.0.1', '127.0.0.1:', ':9464', '1:2:3', '70000', 'http://a:1', '[::1]'])(
    'takes no address %j',
    (text) => {
      expect(MetricsAddress.safeParse(text).success).toBe(false)
    },
  )
})
