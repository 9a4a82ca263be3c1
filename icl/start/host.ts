import type { RecoverKey } from '../../lib/wallet-signature.ts'
import type { Defer } from '../async/batches.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { ReadText } from './deployment-settings.ts'
import type { Settings } from './settings.ts'

/** A store that is open, and this process among those that share it. */
export type OpenedStore = { readonly store: Store; readonly replicaId: string }

/** What a process tells of itself. */
export type ProcessFigures = {
  /** When it started, in Unix seconds. */
  readonly startedAt: number
  readonly memoryBytes: () => number
  readonly processorSeconds: () => number
}

/** What differs between the hosts that the ICL runs on. */
export type Host = {
  /** Takes lines of the log, with their ends. */
  readonly write: (line: string) => void
  readonly readText: ReadText
  /** Opens the store that the settings name; throws SvcError `store-...`. */
  readonly openStore: (settings: Settings, log: Log) => Promise<OpenedStore>
  /** Makes what tells clients' servers of settled jobs; undefined where the host cannot keep it from private addresses. */
  readonly openWebhooks: ((options: { readonly allowPrivate: boolean }) => Webhooks) | undefined
  /** Loads a faster way to recover wallets' keys than viem's; undefined where the host has none. */
  readonly loadRecovery?: () => Promise<RecoverKey>
  /** Calls back once what has come in already was seen to; undefined where the host cannot tell. */
  readonly defer?: Defer
  /** Undefined where the host tells none. */
  readonly figures: ProcessFigures | undefined
}
