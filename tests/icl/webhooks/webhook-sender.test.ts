import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import 'reflect-metadata'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { receive } from '../../../examples/webhook-receiver.ts'
import {
  createWebhookSender,
  type WebhookSenderOptions,
} from '../../../icl/start/webhook-sender.ts'
import { certificateFor } from './certificate.ts'

const secret = new Uint8Array(32).fill(5)
const message = { type: 'inference.settled', data: { jobId: '0x1', status: 'accepted' } }
const body = JSON.stringify(message)
const servers: Server[] = []
const connected: string[] = []
const seen: { url: string; headers: Record<string, string>; body: string }[] = []
let plain = 0
let secure = 0

const answer: RequestListener = async (request, response) => {
  const { url = '' } = request
  seen.push({ url, headers: request.headers as Record<string, string>, body: await text(request) })
  if (url === '/redirect') return response.writeHead(302, { location: '/elsewhere' }).end()
  if (url === '/silent') return
  if (url === '/endless') {
    response.writeHead(200)
    const pour = () => response.write('x'.repeat(65_536))
    response.on('drain', pour)
    return void pour()
  }
  if (url === '/headers') {
    return response.writeHead(200, { long: 'x'.repeat(100_000) }).end()
  }
  response.writeHead(200).end('thanks')
}

async function listen(server: Server): Promise<number> {
  servers.push(server)
  server.on('connection', (socket) => connected.push(socket.localAddress ?? ''))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

const tls = await certificateFor('receiver.example')
plain = await listen(createServer(answer))
secure = await listen(createTlsServer(tls, answer))

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

const send = (
  url: string,
  options: Partial<WebhookSenderOptions> = {},
  signal = new AbortController().signal,
) =>
  createWebhookSender({ allowPrivate: true, timeoutMs: 60_000, ...options }).send(
    { url, id: 'msg_1', sentAt: Date.now(), body, secret },
    signal,
  )
const local = (path: string) => send(`http://127.0.0.1:${plain}${path}`)

describe('a webhook that is sent', () => {
  it('has a signature that the library of its receiver takes', async () => {
    expect(await local('/hook?a=1')).toEqual({ status: 200 })
    const last = seen.at(-1)!
    expect(last.url).toBe('/hook?a=1')
    expect(last.headers['content-type']).toBe('application/json')
    const receiver = new Webhook(`whsec_${Buffer.from(secret).toString('base64')}`)
    expect(receiver.verify(last.body, last.headers)).toEqual(message)
    expect(() => receiver.verify(`${last.body} `, last.headers)).toThrow()
  })

  it('is taken by the receiver that the docs show, unless it has another sender', async () => {
    expect(await local('/hook')).toEqual({ status: 200 })
    const { headers, body: sent } = seen.at(-1)!
    const webhookSecret = `whsec_${Buffer.from(secret).toString('base64')}`
    const statusOf = async (text: string) =>
      (
        await receive(
          new Request('https://a.example/', { method: 'POST', headers, body: text }),
          webhookSecret,
        )
      ).status
    const print = vi.spyOn(console, 'log').mockImplementation(() => {})
    expect([await statusOf(sent), await statusOf(`${sent} `)]).toEqual([204, 401])
    expect(print).toHaveBeenCalledWith('msg_1', '0x1', 'accepted')
    print.mockRestore()
    const root = new URL('../../../', import.meta.url).pathname
    const example = await readFile(`${root}examples/webhook-receiver.ts`, 'utf8')
    expect(await readFile(`${root}docs/webhooks.md`, 'utf8')).toContain(
      `\`\`\`ts\n${example}\`\`\``,
    )
  })

  it('follows no redirect', async () => {
    const before = seen.length
    expect(await local('/redirect')).toEqual({ status: 302 })
    expect(seen.slice(before).map(({ url }) => url)).toEqual(['/redirect'])
  })

  it('does not read an answer that has no end, and takes no headers without end', async () => {
    expect(await local('/endless')).toEqual({ status: 200 })
    expect(await local('/headers')).toEqual({ error: 'unreachable' })
  })

  it('gives up on a server that does not answer, and at once when it is told to', async () => {
    const url = `http://127.0.0.1:${plain}/silent`
    expect(await send(url, { timeoutMs: 100 })).toEqual({ error: 'timeout' })
    const stop = new AbortController()
    const stopped = send(url, {}, stop.signal)
    stop.abort(new Error('the work is lost'))
    await expect(stopped).rejects.toThrow('the work is lost')
  })

  it('says that nobody is there', async () => {
    expect(await send('http://127.0.0.1:1/')).toEqual({ error: 'unreachable' })
  })
})

describe('a name that leads to several addresses', () => {
  it('is refused before anything connects when one of them is private, unless that is allowed', async () => {
    const before = connected.length
    const url = `https://receiver.example:${secure}/`
    for (const addresses of [
      ['127.0.0.1'],
      ['10.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['169.254.169.254'],
      ['93.184.215.14', '127.0.0.1'],
      ['not an address'],
      [],
    ]) {
      const resolve = async () => addresses
      expect(await send(url, { allowPrivate: false, resolve })).toEqual({
        error: 'address-refused',
      })
    }
    expect(connected.length).toBe(before)
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const answered = await send(`https://${host}:${secure}/`, { allowPrivate: false })
      expect(answered).toEqual({ error: 'address-refused' })
    }
    expect(connected.length).toBe(before)
  })

  it('is resolved once, and the connection goes to what was judged, under its own name and certificate', async () => {
    let asked = 0
    const resolve = async () => {
      asked += 1
      return ['127.0.0.1']
    }
    const options = { resolve, ca: tls.cert }
    expect(await send(`https://receiver.example:${secure}/named`, options)).toEqual({ status: 200 })
    expect(asked).toBe(1)
    expect(seen.at(-1)?.headers.host).toBe(`receiver.example:${secure}`)
    // A server that cannot prove the name gets nothing, nor does one whose certificate nobody trusts.
    const before = seen.length
    for (const [host, port, more] of [
      ['other.example', secure, options],
      ['receiver.example', secure, { resolve }],
      ['receiver.example', plain, options],
    ] as const) {
      expect(await send(`https://${host}:${port}/`, more)).toEqual({ error: 'tls-failed' })
    }
    expect(await send(`https://receiver.example:${secure}/headers`, options)).toEqual({
      error: 'unreachable',
    })
    expect(seen.length).toBe(before + 1)
  })

  it('is tried at the next one when nobody is at the first', async () => {
    const resolve = async () => ['127.255.255.254', '127.0.0.1']
    const answered = await send(`http://receiver.example:${plain}/next`, { resolve })
    expect(answered).toEqual({ status: 200 })
    expect(seen.at(-1)?.url).toBe('/next')
  })

  it('is refused when it leads nowhere', async () => {
    const resolve = async () => Promise.reject(new Error('no such name'))
    expect(await send('https://nowhere.example/', { resolve })).toEqual({
      error: 'address-refused',
    })
  })
})
