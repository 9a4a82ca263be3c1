import { Logger } from 'tslog'
import type { Clock } from '../lib/clock.ts'
import type { Address } from '../lib/codecs.ts'

/** The levels of log lines, from the most detailed (spec 6). */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR'

/** Where the daemon says what happens; prompts and outputs belong to `debug` only, keys and passwords nowhere. */
export interface Log {
  debug(message: string): void
  info(message: string): void
  warning(message: string): void
  error(message: string): void
}

const tslogLevels = { DEBUG: 'DEBUG', INFO: 'INFO', WARNING: 'WARN', ERROR: 'ERROR' } as const

/** An address as log lines show it: its first and last four digits. */
const shortAddress = (address: Address): string => `${address.slice(0, 6)}..${address.slice(-4)}`

const timeFormat = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'UTC',
  dateStyle: 'short',
  timeStyle: 'medium',
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal.
const forging = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** A text on one line: control characters, line breaks and direction marks are written as escapes. */
const oneLine = (text: string): string =>
  text.replace(forging, (character) =>
    character === '\n'
      ? '\\n'
      : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )

/** One log line: `[YYYY-MM-DDTHH:MM:SS] [LEVEL] [<short address>] <message>`, in UTC (spec 6). */
const formatLine = (atMs: number, level: LogLevel, address: Address, message: string): string =>
  `[${timeFormat.format(atMs).replace(' ', 'T')}] [${level}] [${shortAddress(address)}] ${oneLine(message)}`

/** Makes the node's log; `write` gets whole lines without a line break. */
export function createLog(options: {
  readonly level: LogLevel
  readonly address: Address
  readonly clock: Clock
  readonly write: (line: string) => void
}): Log {
  const logger = new Logger<{ message: string; level: LogLevel }>({
    type: 'hidden',
    minLevel: tslogLevels[options.level],
    stack: { capture: 'off' },
    attachedTransports: [
      ({ message, level }) =>
        options.write(formatLine(options.clock.now(), level, options.address, message)),
    ],
  })
  return {
    debug: (message) => void logger.debug({ message, level: 'DEBUG' }),
    info: (message) => void logger.info({ message, level: 'INFO' }),
    warning: (message) => void logger.warn({ message, level: 'WARNING' }),
    error: (message) => void logger.error({ message, level: 'ERROR' }),
  }
}
