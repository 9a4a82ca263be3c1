// Loaded before a gateway's own code (`bun --preload`). It counts the requests that leave the process, and says what they cost.

/** Requests and processor time of the process since the last look. */
export type Counts = {
  readonly requests: number
  readonly cpuMs: number
  /** Requests by method and path, or by the call of the chain's RPC; calls of one batch apart. Empty unless names were asked for. */
  readonly names: Readonly<Record<string, number>>
}

let requests = 0
let isNaming = false
let names: Record<string, number> = {}
let usage = process.cpuUsage()

const count = (name: string) => {
  names[name] = (names[name] ?? 0) + 1
}

async function nameOf(request: Request): Promise<void> {
  const { pathname } = new URL(request.url)
  const text = request.method === 'POST' ? await request.text().catch(() => '') : ''
  if (!text.includes('"jsonrpc"')) {
    return count(`${request.method} ${pathname.replaceAll(/0x[0-9a-f]+|bafk\w+/g, '*')}`)
  }
  for (const { method } of [JSON.parse(text)].flat()) count(`chain: ${method}`)
}

const send = globalThis.fetch
globalThis.fetch = Object.assign((input: never, init: never) => {
  requests += 1
  if (isNaming) void nameOf(new Request(input, init).clone())
  return send(input, init)
}, send)

const { port } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: ({ url }) => {
    const { user, system } = process.cpuUsage(usage)
    const counts: Counts = { requests, cpuMs: (user + system) / 1000, names }
    isNaming = new URL(url).search === '?names'
    requests = 0
    names = {}
    usage = process.cpuUsage()
    return Response.json(counts)
  },
})
process.stderr.write(`Probe at http://127.0.0.1:${port}\n`)
