import { Logger } from 'tslog'
import type { Clock } from '../lib/clock.ts'
import type { Address } from '../lib/codecs.ts'
import { printableJson, printableLine } from '../lib/printable.ts'
import { createRepeats } from './repeats.ts'
import { utcText } from './utc.ts'

/** The levels of log lines, from the most detailed (spec 6). */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR'

/** The format of log lines: that of the specification, or JSON. */
export type LogFormat = 'text' | 'json'

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

/** A log that counts repeated warnings. `end` writes the counts that are left. */
export type EndingLog = Log & { readonly end: () => void }

/** Makes the node's log. `write` receives whole lines without a line break. */
export function createLog(options: {
  readonly level: LogLevel
  readonly format?: LogFormat
  readonly address: Address
  readonly clock: Clock
  readonly write: (line: string) => void
  /** For a person who watches: at INFO, one line per job in place of its steps. */
  readonly isBrief?: boolean
}): EndingLog {
  const { address, clock, format = 'text' } = options
  const lineOf = (level: LogLevel, message: string): string => {
    const now = clock.now()
    const seconds = utcText(now).replace(' ', 'T')
    if (format === 'json') {
      const time = `${seconds}.${String(Math.floor(now) % 1000).padStart(3, '0')}Z`
      return printableJson(JSON.stringify({ time, level, address, message }))
    }
    // `[YYYY-MM-DDTHH:MM:SS] [LEVEL] [<short address>] <message>`, in UTC (spec 6).
    const shortAddress = `${address.slice(0, 6)}..${address.slice(-4)}`
    return `[${seconds}] [${level}] [${shortAddress}] ${printableLine(message)}`
  }
  const logger = new Logger<{ message: string; level: LogLevel }>({
    type: 'hidden',
    minLevel: tslogLevels[options.level],
    stack: { capture: 'off' },
    attachedTransports: [({ level, message }) => options.write(lineOf(level, message))],
  })
  const repeats = createRepeats(clock, (message) => void logger.warn({ message, level: 'WARNING' }))
  const info = (message: string) => {
    repeats.before(message)
    logger.info({ message, level: 'INFO' })
  }
  const leavesOut = options.isBrief === true && options.level === 'INFO'
  return {
    debug: (message) => void logger.debug({ message, level: 'DEBUG' }),
    info,
    step: leavesOut ? () => {} : info,
    summary: leavesOut ? info : () => {},
    warning: repeats.warn,
    error: (message) => {
      repeats.before(message)
      logger.error({ message, level: 'ERROR' })
    },
    end: repeats.end,
  }
}
