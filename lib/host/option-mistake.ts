import { errorMessage } from '../error-message.ts'
import { nearestName } from './nearest.ts'

/** What `parseArgs` says of a wrong command line, in one line; for an unknown option the one that was probably meant. */
export function optionMistake(error: unknown, options: readonly string[]): string {
  const said = errorMessage(error).split('\n')[0] ?? ''
  const [, typed] = /^Unknown option '(--?[^']+)'/.exec(said) ?? []
  if (typed === undefined) return said
  const near = nearestName(
    typed,
    options.map((name) => `--${name}`),
  )
  return `There is no option ${typed}${near === undefined ? '' : `. Did you mean ${near}?`}`
}
