import { Logger } from 'tslog'
import type { Clock } from '../lib/clock.ts'
import type { Address } from '../lib/codecs.ts'
import { type LogFormat, type LogLevel, lineOf } from './log-lines.ts'

/** The log of the daemon. Prompts and outputs belong to `debug` only. Keys and passwords are never logged. */
export interface Log {
  debug(message: string): void
  info(message: string): void
  /** Logs one of the many steps of a job, at INFO. A brief log leaves it out. */
  step(message: string): void
  /** Logs the outcome of a job, at INFO. Only a brief log has it. */
  summary(message: string): void
  warning(message: string): void
  error(message: string): void
}

const tslogLevels = { DEBUG: 'DEBUG', INFO: 'INFO', WARNING: 'WARN', ERROR: 'ERROR' } as const

/** Makes the node's log. `write` receives whole lines without a line break. */
export function createLog(options: {
  readonly level: LogLevel
  readonly format?: LogFormat
  readonly address: Address
  readonly clock: Clock
  readonly write: (line: string) => void
  /** For a person who watches: at INFO, one line per job in place of its steps. */
  readonly isBrief?: boolean
}): Log {
  const { address, clock, format = 'text' } = options
  const logger = new Logger<{ message: string; level: LogLevel }>({
    type: 'hidden',
    minLevel: tslogLevels[options.level],
    stack: { capture: 'off' },
    attachedTransports: [
      ({ message, level }) =>
        options.write(lineOf[format]({ atMs: clock.now(), level, address, message })),
    ],
  })
  const info = (message: string) => void logger.info({ message, level: 'INFO' })
  const leavesOut = options.isBrief === true && options.level === 'INFO'
  return {
    debug: (message) => void logger.debug({ message, level: 'DEBUG' }),
    info,
    step: leavesOut ? () => {} : info,
    summary: leavesOut ? info : () => {},
    warning: (message) => void logger.warn({ message, level: 'WARNING' }),
    error: (message) => void logger.error({ message, level: 'ERROR' }),
  }
}
