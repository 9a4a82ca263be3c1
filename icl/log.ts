/** Facts beside a message; never bodies, keys or tokens. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** Where the ICL says what it does. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}
