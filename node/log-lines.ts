import type { Address } from '../lib/codecs.ts'
import { printableJson, printableLine } from '../lib/host/printable.ts'

/** The levels of log lines, from the most detailed (spec 6). */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR'

/** One log event. `atMs` is milliseconds since the Unix epoch. */
export type LogEvent = {
  readonly atMs: number
  readonly level: LogLevel
  readonly address: Address
  readonly message: string
}

/** The format of log lines: that of the specification, or JSON. */
export type LogFormat = 'text' | 'json'

/** Shortens an address to its first and last four digits. */
const shortAddress = (address: Address): string => `${address.slice(0, 6)}..${address.slice(-4)}`

const timeFormat = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'UTC',
  dateStyle: 'short',
  timeStyle: 'medium',
})

const timeOf = (atMs: number): string => timeFormat.format(atMs).replace(' ', 'T')

/** Formats an event as a line. */
export const lineOf: Readonly<Record<LogFormat, (event: LogEvent) => string>> = {
  /** `[YYYY-MM-DDTHH:MM:SS] [LEVEL] [<short address>] <message>`, in UTC (spec 6). */
  text: ({ atMs, level, address, message }) =>
    `[${timeOf(atMs)}] [${level}] [${shortAddress(address)}] ${printableLine(message)}`,
  /** `{"time","level","address","message"}`: the same facts, with the whole address and milliseconds. */
  json: ({ atMs, level, address, message }) => {
    const ms = String(Math.floor(atMs) % 1000).padStart(3, '0')
    const time = `${timeOf(atMs)}.${ms}Z`
    return printableJson(JSON.stringify({ time, level, address, message }))
  },
}
