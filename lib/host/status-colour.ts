/** The first word of a line that tells a status, and its colour. */
const colours: readonly (readonly [word: RegExp, code: number])[] = [
  [/^(FAIL|error:)(?= )/, 31],
  [/^ok(?= )/, 32],
  [/^(!|warning:)(?= )/, 33],
  [/^skipped(?= )/, 2],
]

/** Shows the statuses of lines in colour on a terminal that has them. It comes last: no text brings escape codes of its own. */
export function withStatusColour(
  stream: { readonly isTTY?: boolean },
  { NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): (line: string) => string {
  if (stream.isTTY !== true || NO_COLOR || TERM === 'dumb') return (line) => line
  return (line) => {
    const found = colours.find(([word]) => word.test(line))
    return found ? line.replace(found[0], (word) => `\u001b[${found[1]}m${word}\u001b[0m`) : line
  }
}
