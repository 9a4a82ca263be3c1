import type { Api } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { figuresOf } from '../../lib/host/process-figures.ts'
import { version } from '../../lib/host/version.ts'
import type { DaemonDeps } from '../daemon.ts'
import type { Log } from '../log.ts'
import type { MetricsAddress } from '../metrics-address.ts'
import { createNodeMetrics } from './metrics.ts'
import { serveMetrics } from './server.ts'
import { withMetrics } from './with-metrics.ts'

/** Serves the metrics of this process from now on. Throws SvcError `metrics-not-served`. */
export async function openMetrics(
  at: MetricsAddress,
  { clock, log, address }: { readonly clock: Clock; readonly log: Log; readonly address: Address },
) {
  const labels = { version, address }
  const metrics = createNodeMetrics({ clock, figures: figuresOf(process), labels })
  const { url, close } = await serveMetrics(at, metrics.text)
  log.info(`Serving metrics at ${url}`)
  return {
    spent: metrics.spent,
    /** Has the metrics count what the daemon with these parts does. */
    measure: (deps: DaemonDeps, api: Pick<Api, 'getNode'>): DaemonDeps =>
      withMetrics(deps, metrics, (signal) =>
        api.getNode({ params: { address: deps.address } }, { signal }),
      ),
    close,
  }
}
