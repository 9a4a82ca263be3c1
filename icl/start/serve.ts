import { once } from 'node:events'
import { createServer } from 'node:net'
import { listenForStop } from '../../lib/host/stop-signals.ts'
import { createApp } from '../app.ts'
import { runWorkers } from '../background/workers.ts'
import { createDependencies } from './dependencies.ts'
import { openFilesWarnings } from './host.ts'
import { type Listen, type ListenAddress, listenAt } from './listening.ts'
import { createMachine, readFolder } from './machine.ts'
import { readPlayground, servePlayground } from './playground.ts'
import { type Settings, settingsWarnings } from './settings.ts'

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** How long proxies and callers have to see that the ICL stops. One that sends into a connection that ends unannounced loses its request. */
const leaveMs = 2_000

/** Listens and stops, without the runtime's own server: Deno Deploy sends requests to the first one of a process, and to no other. */
const tryAddress = ({ hostname, port }: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(port, hostname, () => server.close(() => resolve()))
  })

/**
 * Serves the ICL on this machine until SIGINT, SIGTERM or SIGHUP. Then it listens on for two seconds, while it says that it stops, and
 * finishes open requests, for as long as the settings allow.
 */
export async function serve(
  settings: Settings,
  environment: Environment,
  listen: Listen,
): Promise<void> {
  const signals = listenForStop()
  const address = { hostname: settings.SVC_ICL_HOST, port: settings.SVC_ICL_PORT }
  // Says that the port is taken before a database is made.
  await listenAt(address, () => tryAddress(address))
  const machine = createMachine((line) => process.stdout.write(line))
  const deps = await createDependencies(settings, machine)
  const warnings = [
    ...settingsWarnings(settings, environment),
    ...openFilesWarnings(machine.figures?.openFilesLimit()),
  ]
  for (const warning of warnings) deps.log.warn(warning)
  const app = createApp(deps)
  const playground = readPlayground(settings, deps.network.coprocessor, readFolder)
  if (playground) app.route('/playground', servePlayground(deps, playground))
  const server = await listenAt(address, () => listen(app, address))
  const stop = new AbortController()
  const workers = runWorkers(deps, stop.signal)
  deps.log.info('ICL listening', {
    url: server.url.href,
    publicUrl: deps.network.public_url,
    attestation: deps.network.attestation_backends.join(', ') || 'none',
    durable: deps.store.durable,
  })
  if (!deps.keys.isPublished) {
    deps.log.warn(
      'A key that the ICL signs with is withdrawn: its receipts or certificates are rejected. Set a new SVC_ICL_SECRET, or run `admin keys rotate`',
    )
  }
  if (!deps.store.durable) {
    deps.log.warn('The store is in memory', { reasons: deps.store.status().reasons.join('; ') })
  }

  await aborted(signals.stop)
  deps.log.info('ICL stopping', { drainSeconds: settings.SVC_ICL_DRAIN_SECONDS })
  deps.notifier.leave()
  const drainMs = settings.SVC_ICL_DRAIN_SECONDS * 1000
  const abandoned = aborted(signals.abandon)
  await Promise.race([deps.clock.sleep(Math.min(leaveMs, drainMs)), abandoned])
  stop.abort()
  // Answers held requests with what there is, and ends event streams.
  deps.notifier.close()
  const drained = Promise.all([server.stop(), workers]).then(() => true)
  const cutOff = Promise.race([abandoned, deps.clock.sleep(drainMs)]).then(() => false)
  const isDrained = await Promise.race([drained, cutOff])
  if (!isDrained) deps.log.warn('ICL stops with requests or background work under way')
  await server.stop(true)
  await deps.store.close()
  deps.log.info('ICL stopped')
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}
