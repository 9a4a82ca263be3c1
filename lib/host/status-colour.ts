/** The first words of lines that tell a status, and their colours. */
const colours: readonly (readonly [word: RegExp, code: number])[] = [
  [/^(FAIL|error:)(?= )/, 31],
  [/^ok(?= )/, 32],
  [/^(!|warning:)(?= )/, 33],
  [/^skipped(?= )/, 2],
]

/** Colours the status at the start of a line, on a terminal with colours. Apply it last, after escape codes in texts were escaped. */
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
