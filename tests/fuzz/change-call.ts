import type { Bytes, Call } from './call.ts'
import { strangeTexts, wellFormed } from './strange-values.ts'
import type { FuzzWorld } from './world.ts'

type Wire = Pick<Call, 'method' | 'target' | 'headers' | 'body'>
type Change = (world: FuzzWorld, call: Wire) => Wire | undefined

const withHeader = (call: Wire, name: string, value: string): Wire => {
  const headers = new Headers(call.headers)
  headers.set(name, value)
  return { ...call, headers }
}

const utf8 = (text: string): Bytes => new TextEncoder().encode(text) as Bytes
const textOf = (body: Bytes | undefined) => new TextDecoder().decode(body ?? new Uint8Array())

const oddHeaders: readonly (readonly [string, string])[] = [
  ['content-type', 'text/plain'],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-type', 'multipart/form-data'],
  ['content-encoding', 'gzip'],
  ['accept', 'text/html'],
  ['accept-encoding', 'br;q=1, *;q=0'],
  ['range', 'bytes=0-0'],
  ['if-none-match', '*'],
  ['last-event-id', '-1'],
  ['last-event-id', '99999999999999999999'],
  ['traceparent', '00-zz-zz-01'],
  ['x-forwarded-for', '1.2.3.4, ::ffff:1.2.3.4, [bad'],
  ['x-forwarded-host', 'evil.test'],
  ['x-http-method-override', 'DELETE'],
  ['cookie', 'a=b; __proto__=c'],
  ['origin', 'https://evil.test'],
  ['x-large', 'h'.repeat(9_000)],
]

const trickedPaths: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.toUpperCase(),
  (path) => path.replace('/', '/./'),
  (path) => `/x/..${path}`,
  (path) => path.replace('/', '/%2e%2e/'),
  (path) => path.replace(/\/([^/]*)$/, '%2f$1'),
  (path) => `${path};jsessionid=1`,
  (path) => `${path}%00`,
  (path) => `${path}%`,
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
]

const changes: Readonly<Record<string, Change>> = {
  header: ({ dice }, call) => {
    const [name, value] = dice.pick(oddHeaders)
    return withHeader(call, name, value)
  },
  'no content type': (_, call) => {
    const headers = new Headers(call.headers)
    headers.delete('content-type')
    return { ...call, headers }
  },
  'password in a header': ({ planted }, call) => withHeader(call, 'x-api-key', planted.canary),
  method: ({ dice }, call) => {
    const method = dice.pick(['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET', 'POST'])
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return { ...call, method, body: hasBody ? call.body : undefined }
  },
  'path trick': ({ dice }, call) => {
    const [path = '/', ...query] = call.target.split('?')
    return { ...call, target: [dice.pick(trickedPaths)(path), ...query].join('?') }
  },
  'query trick': ({ dice, planted }, call) => {
    const more = dice.pick([
      'a=1&a=2',
      'wait=1&wait=2',
      '%zz',
      '&&&',
      '=',
      'x'.repeat(5_000),
      `password=${planted.canary}`,
      `q=${encodeURIComponent(wellFormed(dice.pick(strangeTexts)))}`,
    ])
    return { ...call, target: `${call.target}${call.target.includes('?') ? '&' : '?'}${more}` }
  },
  'cut body': ({ dice }, call) =>
    call.body && { ...call, body: call.body.slice(0, dice.between(0, call.body.length)) },
  'flipped bit': ({ dice }, call) => {
    if (!call.body || call.body.length === 0) return undefined
    const body = call.body.slice()
    const at = dice.between(0, body.length - 1)
    body[at] = (body[at] ?? 0) ^ (1 << dice.between(0, 7))
    return { ...call, body }
  },
  'key given twice': (_, call) => {
    const text = textOf(call.body)
    const first = /^\{("[^"]+"):/.exec(text)?.[1]
    return first ? { ...call, body: utf8(text.replace('{', `{${first}:null,`)) } : undefined
  },
  'not UTF-8': (_, call) =>
    call.body && {
      ...call,
      body: Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, ...call.body.slice(0, 50)),
    },
  'huge body': ({ dice }, call) => {
    if (!call.body || dice.chance(0.8)) return undefined
    return { ...call, body: utf8(`${textOf(call.body)}${' '.repeat(270_000)}`) }
  },
}

/** Changes how a request is written, in one place; it is signed afterwards. */
export function changeCall(world: FuzzWorld, call: Wire): { call: Wire; what: string } {
  const { dice } = world
  for (let tries = 0; tries < 8; tries++) {
    const what = dice.pick(Object.keys(changes))
    const changed = changes[what]?.(world, call)
    if (changed) return { call: changed, what }
  }
  return { call, what: 'nothing' }
}
