// A server for the benchmarks, on the runtime that runs this: tells its port, then answers commands.

import { bareApp, createEmptyApp, heldApp } from './baselines.ts'
import { serveCommands } from './commands.ts'
import { floorApp, floorCommands } from './floor.ts'
import { listenHere } from './listen-here.ts'
import type { ServerOptions } from './options.ts'
import { usageCommands } from './usage.ts'

const options: ServerOptions = JSON.parse(process.env.BENCH_SERVER ?? '')
const place = { hostname: '127.0.0.1', port: 0 }

async function serve() {
  switch (options.kind) {
    case 'hono':
      return { app: createEmptyApp(), commands: {}, stop: async () => {} }
    case 'bare':
      return { app: bareApp, commands: {}, stop: async () => {} }
    case 'held':
      return { app: heldApp, commands: {}, stop: async () => {} }
    case 'floor':
      return {
        app: floorApp(options.answerBytes ?? 0),
        commands: floorCommands(options.folder ?? '.'),
        stop: async () => {},
      }
    default:
      return (await import('./icl.ts')).serveIcl(options)
  }
}

const { app, commands, stop } = await serve()
const listen = await listenHere()
const isPlain = options.kind === 'held' || options.kind === 'floor'
const server = isPlain
  ? Bun.serve({ ...place, idleTimeout: 0, fetch: (request) => app.fetch(request) })
  : await listen(app, place)
process.stdout.write(`${JSON.stringify({ port: Number(server.url.port) })}\n`)
await serveCommands({ ...usageCommands, ...commands })
await Promise.race([stop(), new Promise((resolve) => setTimeout(resolve, 5_000))])
process.exit(0)
