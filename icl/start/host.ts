import type { ProcessFigures } from '../../lib/prometheus.ts'
import type { RecoverKey } from '../../lib/wallet-signature.ts'
import type { Defer } from '../async/batches.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { ReadText } from './deployment-settings.ts'
import type { Settings } from './settings.ts'

const fewFiles = 4_096

/** A warning when the process may open few files. At its limit, an ICL can neither accept connections nor say why. */
export const openFilesWarnings = (limit: number | undefined): readonly string[] =>
  limit === undefined || limit >= fewFiles
    ? []
    : [
        `Only ${limit} files and connections may be open at once, and at the limit the ICL does not respond: raise the limit (ulimit -n, LimitNOFILE= of systemd) to ${fewFiles} or more`,
      ]

/** The differences between the hosts that the ICL runs on. */
export type Host = {
  /** Writes log lines, which end with a line feed. */
  readonly write: (line: string) => void
  readonly readText: ReadText
  /** Opens the store that the settings name. Throws SvcError `store-...`. */
  readonly openStore: (settings: Settings, log: Log) => Promise<Store>
  /** The URL at which this machine's Kubo has its RPC. Undefined when the host has no local network. */
  readonly localKubo: string | undefined
  /** Makes the sender of webhooks. Undefined when the host cannot keep it from private addresses. */
  readonly openWebhooks: ((options: { readonly allowPrivate: boolean }) => Webhooks) | undefined
  /** Loads a faster recovery of wallets' keys than viem's. Undefined when the host has none. */
  readonly loadRecovery?: () => Promise<RecoverKey>
  /** Calls back once the input that has already arrived is handled. Undefined when the host cannot tell. */
  readonly defer?: Defer
  /** Reads the script of the API reference. Undefined where it is not built, or where the host has no room for it. */
  readonly readDocsScript?: () => string | undefined
  /** Undefined when the host provides none. */
  readonly figures?: ProcessFigures
}
