import { type ParseArgsConfig, parseArgs } from 'node:util'
import { errorMessage } from '../error-message.ts'
import { nearestName } from './nearest.ts'

/** Reads a command line as `parseArgs` does; throws what `wrong` makes of a mistake. */
export function readCommandLine<Config extends ParseArgsConfig>(
  config: Config,
  wrong: (mistake: string) => Error,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw wrong(optionMistake(error, Object.keys(config.options ?? {})))
  }
}

/** What `parseArgs` says of a wrong command line, in one line; for an unknown option the one that was probably meant. */
function optionMistake(error: unknown, options: readonly string[]): string {
  const said = errorMessage(error).split('\n')[0] ?? ''
  const [, typed] = /^Unknown option '(--?[^']+)'/.exec(said) ?? []
  if (typed === undefined) return said
  const near = nearestName(
    typed,
    options.map((name) => `--${name}`),
  )
  return `There is no option ${typed}${near === undefined ? '' : `. Did you mean ${near}?`}`
}
