import { errorMessage } from '../lib/error-message.ts'
import { openRotatingFile, orUnusable, type RotatingFileOptions } from './rotating-file.ts'

/** A destination of log lines. */
export type LogSink = { readonly write: (line: string) => void; readonly close: () => void }

/** Opens the log file. A kill loses no line. After a failed write, lines go to `elsewhere`. Throws SvcError `log-file-unusable`. */
export function openLogFile(
  options: RotatingFileOptions,
  elsewhere: (line: string) => void,
): LogSink {
  const open = () => openRotatingFile(options)
  const file = orUnusable('log-file-unusable', `the log file ${options.path}`, open, {
    hint: 'Check log_file (SVC_LOG_FILE, --log-file), and who owns its folder.',
  })
  let isBroken = false
  return {
    write(line) {
      try {
        file.append(line)
        isBroken = false
      } catch (error) {
        // A full disk must not end the daemon.
        if (!isBroken)
          elsewhere(`The log file ${options.path} cannot be written: ${errorMessage(error)}`)
        isBroken = true
        elsewhere(line)
      }
    },
    close: () => file.close(),
  }
}
