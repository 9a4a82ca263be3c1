import { writeFileSync } from 'node:fs'
import { SvcError } from '../../lib/svc-error.ts'
import { createApp } from '../app.ts'
import { runPasses } from '../background/passes.ts'
import { createDependencies } from './dependencies.ts'
import { describeSettings, parseSettings, type Settings } from './settings.ts'

const drainMs = 10_000
const heldSeconds = 60

const isHeld = ({ url }: Request): boolean => /\/events$|[?&]wait=/.test(url)

async function serve(settings: Settings): Promise<void> {
  const { deps, dump } = await createDependencies(settings, (line) => process.stdout.write(line))
  const app = createApp(deps)
  const server = Bun.serve({
    hostname: settings.SVC_ICL_HOST,
    port: settings.SVC_ICL_PORT,
    fetch: (request, connection) => {
      // Held requests are quiet for longer than Bun allows others to be: 10 s.
      if (isHeld(request)) connection.timeout(request, heldSeconds)
      return app.fetch(request)
    },
  })
  const stop = new AbortController()
  const passes = runPasses(deps, stop.signal)
  deps.log.info('ICL listening', {
    url: server.url.href,
    publicUrl: deps.network.public_url,
    mockAttestation: deps.mockAttestationKey !== undefined,
    durable: deps.store.durable,
  })
  if (!deps.store.durable) deps.log.warn('The store is in memory: a restart forgets everything')

  await firstSignal()
  deps.log.info('ICL stopping')
  stop.abort()
  deps.waiters.close()
  await Promise.race([Promise.all([server.stop(), passes]), deps.clock.sleep(drainMs)])
  await server.stop(true)
  if (settings.SVC_ICL_DUMP_FILE) writeFileSync(settings.SVC_ICL_DUMP_FILE, dumpText(dump()))
  deps.log.info('ICL stopped')
}

const firstSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve())
  })

const dumpText = (content: unknown): string =>
  JSON.stringify(content, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
  })

if (process.argv.includes('--help')) {
  console.log(`Starts the inference coordination service. Environment:\n\n${describeSettings()}`)
} else {
  try {
    await serve(parseSettings(process.env))
    process.exit(0)
  } catch (error) {
    const known = error instanceof SvcError
    console.error(`error: ${known ? error.message : String(error)}`)
    if (known) console.error(`hint: ${error.hint}`)
    process.exit(1)
  }
}
