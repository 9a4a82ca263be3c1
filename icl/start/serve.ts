import { readFileSync } from 'node:fs'
import { ignoresHangup } from '../../lib/hangup.ts'
import { createApp } from '../app.ts'
import { runWorkers } from '../background/workers.ts'
import { createDependencies } from './dependencies.ts'
import {
  type Listen,
  type ListenAddress,
  type Listening,
  notListening,
  type Served,
} from './listening.ts'
import { createMachine, readFolder } from './machine.ts'
import { readPlayground, servePlayground } from './playground.ts'
import { type Settings, settingsWarnings } from './settings.ts'

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Serves the ICL on this machine until SIGINT, SIGTERM or SIGHUP; then answers what is under way, for as long as the settings say. */
export async function serve(
  settings: Settings,
  environment: Environment,
  listen: Listen,
): Promise<void> {
  const signals = stopSignals()
  // A log that nobody reads any more, as in a closed terminal, is no reason to end.
  process.stdout.on('error', () => {})
  const deps = await createDependencies(
    settings,
    createMachine((line) => process.stdout.write(line)),
  )
  for (const warning of settingsWarnings(settings, environment)) deps.log.warn(warning)
  const app = createApp(deps)
  const playground = readPlayground(settings, deps.network, readFolder)
  if (playground) app.route('/playground', servePlayground(deps, playground))
  const server = await listenAt(listen, app, {
    hostname: settings.SVC_ICL_HOST,
    port: settings.SVC_ICL_PORT,
  })
  const stop = new AbortController()
  const workers = runWorkers(deps, stop.signal)
  deps.log.info('ICL listening', {
    url: server.url.href,
    publicUrl: deps.network.public_url,
    attestation: deps.network.attestation_backends.join(', ') || 'none',
    durable: deps.store.durable,
  })
  if (!deps.store.durable) deps.log.warn('The store is in memory: a restart forgets everything')

  await signals.first
  deps.log.info('ICL stopping', { drainSeconds: settings.SVC_ICL_DRAIN_SECONDS })
  stop.abort()
  // Held requests are answered with what there is, and event streams end.
  deps.notifier.close()
  const drained = Promise.all([server.stop(), workers]).then(() => true)
  const cutOff = Promise.race([
    signals.second,
    deps.clock.sleep(settings.SVC_ICL_DRAIN_SECONDS * 1000),
  ]).then(() => false)
  const isDrained = await Promise.race([drained, cutOff])
  if (!isDrained) deps.log.warn('ICL stops with requests or background work under way')
  await server.stop(true)
  await deps.store.close()
  deps.log.info('ICL stopped')
}

async function listenAt(listen: Listen, app: Served, address: ListenAddress): Promise<Listening> {
  try {
    return await listen(app, address)
  } catch (error) {
    throw notListening(error, address)
  }
}

/** The first SIGINT, SIGTERM or SIGHUP, and the second SIGINT or SIGTERM: a closed terminal is told of more than once. */
function stopSignals() {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let count = 0
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      count += 1
      first.resolve()
      if (count > 1) second.resolve()
    })
  }
  if (!isHangupIgnored()) process.on('SIGHUP', () => first.resolve())
  return { first: first.promise, second: second.promise }
}

/** As under nohup, where Linux tells it and this process may read it. */
function isHangupIgnored(): boolean {
  try {
    return ignoresHangup(readFileSync('/proc/self/status', 'utf8'))
  } catch {
    return false
  }
}
