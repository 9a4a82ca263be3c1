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
  warning(message: string): void
  error(message: string): void
}

const tslogLevels = { DEBUG: 'DEBUG', INFO: 'INFO', WARNING: 'WARN', ERROR: 'ERROR' } as const

/** A log that counts repeated warnings. `end` writes the counts that are left. */
export type EndingLog = Log & { readonly end: () => void }

/** The id of a job, or a CID. A transaction's hash is left whole: a person looks it up. */
const longId = /\b(job 0x[0-9a-f]{4}|bafkrei[a-z2-7])[0-9a-z]{47,56}([0-9a-z]{4})\b/gi

/** Makes the node's log. `write` receives whole lines without a line break. */
export function createLog(options: {
  readonly level: LogLevel
  readonly format?: LogFormat
  readonly address: Address
  readonly clock: Clock
  readonly write: (line: string) => void
  /** For lines that fit a terminal: `Job 0x156b..c964` in place of the whole id, and the same for a CID. Only in text. */
  readonly shortensIds?: boolean
}): EndingLog {
  const { address, clock, format = 'text', shortensIds = false } = options
  const lineOf = (level: LogLevel, message: string): string => {
    const now = clock.now()
    const seconds = utcText(now).replace(' ', 'T')
    if (format === 'json') {
      const time = `${seconds}.${String(Math.floor(now) % 1000).padStart(3, '0')}Z`
      return printableJson(JSON.stringify({ time, level, address, message }))
    }
    // `[YYYY-MM-DDTHH:MM:SS] [LEVEL] [<short address>] <message>`, in UTC (spec 6).
    const shortAddress = `${address.slice(0, 6)}..${address.slice(-4)}`
    const text = shortensIds ? message.replace(longId, '$1..$2') : message
    return `[${seconds}] [${level}] [${shortAddress}] ${printableLine(text)}`
  }
  const logger = new Logger<{ message: string; level: LogLevel }>({
    type: 'hidden',
    minLevel: tslogLevels[options.level],
    stack: { capture: 'off' },
    attachedTransports: [({ level, message }) => options.write(lineOf(level, message))],
  })
  const repeats = createRepeats(clock, (message) => void logger.warn({ message, level: 'WARNING' }))
  return {
    debug: (message) => void logger.debug({ message, level: 'DEBUG' }),
    info: (message) => {
      repeats.before(message)
      logger.info({ message, level: 'INFO' })
    },
    warning: repeats.warn,
    error: (message) => {
      repeats.before(message)
      logger.error({ message, level: 'ERROR' })
    },
    end: repeats.end,
  }
}
