import { listen } from '../../icl/start/listen-node.ts'

// A server on Node with one answer that has no end; it prints where it listens, and when it gives the answer up: nothing may be silent for longer than a second.
const say = (line: string) => process.stdout.write(`${line}\n`)
const endless = () =>
  new ReadableStream({
    pull: (to) => to.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      say('given up')
    },
  })
const app = { fetch: () => new Response(endless()) }
const { url } = await listen(app as never, { hostname: '127.0.0.1', port: 0 }, 1_000)
say(url.href)
