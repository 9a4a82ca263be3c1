import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { listen } from '../../icl/start/listen.ts'
import { createTestIcl } from '../icl/test-icl.ts'

/** What a server makes of bytes that are no proper HTTP. */
export type MalformedOutcome = {
  readonly name: string
  readonly statuses: readonly number[]
  /** What is wrong with the answer; undefined when nothing is. */
  readonly wrong: string | undefined
}

const post = 'POST /v1/blobs HTTP/1.1\r\nhost: icl.test\r\n'
const hidden = 'GET /v1/network HTTP/1.1\r\nhost: icl.test\r\n\r\n'

/** Messages whose end is not the same for everybody: where a proxy and the ICL disagree, a request hides in another. */
const ambiguous: Readonly<Record<string, string>> = {
  'two ways to end': `${post}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'two lengths': `${post}content-length: 4\r\ncontent-length: 5\r\n\r\nabcde${hidden}`,
  'a list of lengths': `${post}content-length: 4, 5\r\n\r\nabcde${hidden}`,
  'a negative length': `${post}content-length: -1\r\n\r\n${hidden}`,
  'a length with a sign': `${post}content-length: +4\r\n\r\nabcd${hidden}`,
  'a length in hex': `${post}content-length: 0x4\r\n\r\nabcd${hidden}`,
  'a space before the colon': `${post}content-length : 4\r\n\r\nabcd${hidden}`,
  'an unknown coding': `${post}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
  'a chunk without a size': `${post}transfer-encoding: chunked\r\n\r\nzz\r\n${hidden}`,
  'a chunk beyond counting': `${post}transfer-encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n${hidden}`,
  'a folded header': `GET /livez HTTP/1.1\r\nhost: icl.test\r\nx-a: b\r\n c: d\r\n\r\n`,
  'no host': 'GET /livez HTTP/1.1\r\n\r\n',
  'two hosts': 'GET /livez HTTP/1.1\r\nhost: icl.test\r\nhost: other.test\r\n\r\n',
  'bare line feeds': 'GET /livez HTTP/1.1\nhost: icl.test\n\n',
  'a NUL in the path': 'GET /livez\u0000 HTTP/1.1\r\nhost: icl.test\r\n\r\n',
  'another version': 'GET /livez HTTP/9.9\r\nhost: icl.test\r\n\r\n',
  'huge headers': `GET /livez HTTP/1.1\r\nhost: icl.test\r\nx: ${'h'.repeat(200_000)}\r\n\r\n`,
  'thousands of headers': `GET /livez HTTP/1.1\r\nhost: icl.test\r\n${'a: b\r\n'.repeat(3_000)}\r\n`,
  'the start of TLS': '\u0016\u0003\u0001\u0002\u0000\r\n\r\n',
}

/** Well-formed oddities: the application answers them itself. */
const odd: Readonly<Record<string, string>> = {
  'a host with a path': 'GET /livez HTTP/1.1\r\nhost: evil.test/v1/network?x\r\n\r\n',
  'another method': 'BREW /livez HTTP/1.1\r\nhost: icl.test\r\n\r\n',
  'an unasked body': 'GET /livez HTTP/1.1\r\nhost: icl.test\r\ncontent-length: 4\r\n\r\nabcd',
  'a body of no length': `${post}\r\n`,
  'half a body': `${post}content-length: 1000\r\n\r\nabc`,
  'half a head': 'GET /livez HTT',
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Everything that comes back until the connection ends; the sending half is closed after the bytes. */
async function answersTo(port: number, bytes: string): Promise<readonly number[]> {
  const socket = await open(port)
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.end(Buffer.from(bytes, 'latin1'))
  await closed
  return statusesIn(Buffer.concat(parts).toString('latin1'))
}

/** Sends a real server what no client should, with connections that stay half open beside it; it must refuse, and go on serving. */
export async function sendMalformed(): Promise<readonly MalformedOutcome[]> {
  const icl = await createTestIcl()
  const server = listen({ fetch: icl.fetch }, { hostname: '127.0.0.1', port: 0 })
  const port = Number(server.url.port)
  const slow = await Promise.all(Array.from({ length: 50 }, () => open(port)))
  for (const socket of slow) socket.write('POST /v1/blobs HTTP/1.1\r\nhost: icl.test\r\ncontent-')
  const outcomes: MalformedOutcome[] = []
  const isAlive = async () => (await fetch(new URL('/livez', server.url))).ok
  for (const [name, bytes] of Object.entries(ambiguous)) {
    const statuses = await answersTo(port, bytes)
    // Who did not sign is refused before the body is read, and then the server may refuse what is no body. What hides would get 200.
    const [first = 400, second = 400, ...others] = statuses
    const isRefused = first >= 400 && second === 400 && others.length === 0
    const wrong = isRefused ? undefined : `answered ${statuses.join(', ')}`
    outcomes.push({ name, statuses, wrong: (await isAlive()) ? wrong : 'the server is gone' })
  }
  for (const [name, bytes] of Object.entries(odd)) {
    const statuses = await answersTo(port, bytes)
    const isSound = statuses.length <= 1 && statuses.every((status) => status !== 500)
    const wrong = isSound ? undefined : `answered ${statuses.join(', ')}`
    outcomes.push({ name, statuses, wrong: (await isAlive()) ? wrong : 'the server is gone' })
  }
  for (const socket of slow) socket.destroy()
  await server.stop(true)
  await icl.stop()
  return outcomes
}

/** A line for each. */
export const describeMalformed = (outcomes: readonly MalformedOutcome[]): string =>
  outcomes
    .map(({ name, statuses, wrong }) => {
      const answer = statuses.length === 0 ? 'closed' : statuses.join(', ')
      return `${wrong === undefined ? 'ok    ' : 'FAILED'} ${name}: ${wrong ?? answer}\n`
    })
    .join('')
