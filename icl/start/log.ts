import type { Clock } from '../../lib/clock.ts'
import { printableJson } from '../../lib/printable.ts'
import type { Log, LogFields } from '../telemetry/log.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** A log with one JSON object a line, in which nothing controls a terminal. */
export function createJsonLog(clock: Clock, level: Level, write: (line: string) => void): Log {
  let at = Number.NaN
  let time = ''
  const log = (lineLevel: Level) => {
    if (levels.indexOf(lineLevel) < levels.indexOf(level)) return () => {}
    return (message: string, fields: LogFields = {}) => {
      const now = clock.now()
      // Lines come in bursts.
      if (now !== at) time = new Date(now).toISOString()
      at = now
      // An object of all fields would be made for the text alone.
      const rest = JSON.stringify(fields).slice(1)
      const line = `{"time":"${time}","level":"${lineLevel}","message":${JSON.stringify(message)}`
      write(`${printableJson(`${line}${rest === '}' ? '' : ','}${rest}`)}\n`)
    }
  }
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
}
