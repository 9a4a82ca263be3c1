import { resolve } from 'node:path'
import type { Address } from '../../lib/codecs.ts'
import type { Config } from '../config.ts'
import type { Environment } from '../environment.ts'
import { createLog, type Log } from '../log.ts'
import { openLogFile } from '../log-file.ts'
import type { CommandContext } from './context.ts'
import type { Given } from './options.ts'

/** Returns the environment overridden by the options of `run`. */
export const withRunFlags = (
  environment: Environment,
  { logFile, logFormat, metrics, registerUpTo, nodeRegistry }: Given<'run'>,
): Environment => ({
  ...environment,
  ...(logFile !== undefined && { SVC_LOG_FILE: logFile }),
  ...(logFormat !== undefined && { SVC_LOG_FORMAT: logFormat }),
  ...(metrics !== undefined && { SVC_METRICS: metrics }),
  ...(registerUpTo !== undefined && { SVC_REGISTER_UP_TO: registerUpTo }),
  ...(nodeRegistry !== undefined && { SVC_NODE_REGISTRY: nodeRegistry }),
})

/** Opens the daemon's log in the configured file, else on `print`, with short ids on a terminal. Throws SvcError `log-file-unusable`. */
export function openLog(
  context: Pick<CommandContext, 'clock' | 'print' | 'isWatched'>,
  config: Config,
  address: Address,
): { readonly log: Log; readonly close: () => void } {
  const { clock, print, isWatched } = context
  const { log_file: path, log_max_bytes: maxBytes, log_old_files: oldFiles } = config
  const sink =
    path === undefined
      ? { write: print, close: () => {} }
      : openLogFile({ path: resolve(path), maxBytes, oldFiles }, print)
  const { log_level: level, log_format: format } = config
  const shortensIds = path === undefined && level !== 'DEBUG' && isWatched === true
  const log = createLog({ level, format, address, clock, write: sink.write, shortensIds })
  const close = () => {
    log.end()
    sink.close()
  }
  return { log, close }
}
