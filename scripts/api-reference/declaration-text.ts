const opening = '([{<'
const closing = ')]}>'

/** Returns the declaration that begins at a line (from 1) of a formatted source, without the body of a function. */
export function declarationText(source: string, line: number): string {
  const [first = '', ...rest] = source.split('\n').slice(line - 1)
  const lines = [first]
  for (const [index, next] of rest.entries()) {
    // The declaration goes on with a line that is indented, closes it, or is empty before an indented one.
    const goesOn = /^[\s)}\]>]/.test(next) || (next === '' && /^\s/.test(rest[index + 1] ?? ''))
    if (!goesOn) break
    lines.push(next)
  }
  const text = lines.join('\n').replace(/^export /, '')
  if (/^(async )?function /.test(text)) return text.slice(0, bodyStart(text)).trimEnd()
  if (/^const \w+ = (async )?\(/.test(text)) return text.slice(0, arrowStart(text)).trimEnd()
  return text.trimEnd()
}

/** Returns the index of the brace that opens a function's body: the first one that opens no type. */
function bodyStart(text: string): number {
  return find(text, (index) => text[index] === '{' && !/[:|&]\s*$/.test(text.slice(0, index)))
}

/** Returns the index of a function's arrow. */
function arrowStart(text: string): number {
  return find(text, (index) => text.startsWith('=>', index))
}

/** Returns the first index outside all brackets for which `isIt` is true, else the end. */
function find(text: string, isIt: (index: number) => boolean): number {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? ''
    if (depth === 0 && isIt(index)) return index
    if (character === '>' && text[index - 1] === '=') continue
    if (opening.includes(character)) depth += 1
    else if (closing.includes(character)) depth -= 1
  }
  return text.length
}
