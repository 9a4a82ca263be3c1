import type { Clock } from '../../lib/clock.ts'
import { printableJson } from '../../lib/printable.ts'
import type { Log, LogFields } from '../telemetry/log.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** A log with one JSON object a line, in which nothing controls a terminal. */
export function createJsonLog(clock: Clock, level: Level, write: (line: string) => void): Log {
  const log =
    (lineLevel: Level) =>
    (message: string, fields: LogFields = {}) => {
      if (levels.indexOf(lineLevel) < levels.indexOf(level)) return
      const time = new Date(clock.now()).toISOString()
      const line = JSON.stringify({ time, level: lineLevel, message, ...fields })
      write(`${printableJson(line)}\n`)
    }
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
}
