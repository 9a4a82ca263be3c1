/** Fields of a log message; never bodies, keys or tokens. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** The log of the ICL. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** Returns a log that adds the same fields to every message. */
export const logWith = (log: Log, facts: LogFields): Log => ({
  debug: (message, fields) => log.debug(message, { ...facts, ...fields }),
  info: (message, fields) => log.info(message, { ...facts, ...fields }),
  warn: (message, fields) => log.warn(message, { ...facts, ...fields }),
  error: (message, fields) => log.error(message, { ...facts, ...fields }),
})
