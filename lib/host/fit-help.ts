const widest = 100

/** Breaks help lines over 100 columns, without spaces at their ends. A list entry continues below its description. */
export const fitHelp = (text: string): string =>
  text
    .split('\n')
    .map((line) => fitLine(line.trimEnd()))
    .join('\n')

function fitLine(line: string): string {
  const [lead = ''] = /^ *\S.*? {2,}(?=\S)/.exec(line) ?? /^ */.exec(line) ?? []
  const indent = ' '.repeat(lead.length < 60 ? lead.length : 4)
  const lines: string[] = []
  let rest = line
  while (rest.length > widest) {
    const at = rest.lastIndexOf(' ', widest)
    // A word longer than a line stays whole.
    if (at <= indent.length) break
    lines.push(rest.slice(0, at))
    rest = `${indent}${rest.slice(at + 1)}`
  }
  return [...lines, rest].join('\n')
}
