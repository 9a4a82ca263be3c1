const opening = '([{<'
const closing = ')]}>'

/** The declaration that begins in a line (from 1) of a formatted source, without the body when it is a function. */
export function declarationText(source: string, line: number): string {
  const [first = '', ...rest] = source.split('\n').slice(line - 1)
  const lines = [first]
  for (const [index, next] of rest.entries()) {
    // What belongs to it is indented, closes it, or is an empty line before more of it.
    const goesOn = /^[\s)}\]>]/.test(next) || (next === '' && /^\s/.test(rest[index + 1] ?? ''))
    if (!goesOn) break
    lines.push(next)
  }
  const text = lines.join('\n').replace(/^export /, '')
  if (/^(async )?function /.test(text)) return text.slice(0, bodyStart(text)).trimEnd()
  if (/^const \w+ = (async )?\(/.test(text)) return text.slice(0, arrowStart(text)).trimEnd()
  return text.trimEnd()
}

/** Where the brace of a function's body is: the first one that opens no type. */
function bodyStart(text: string): number {
  return find(text, (index) => text[index] === '{' && !/[:|&]\s*$/.test(text.slice(0, index)))
}

/** Where the arrow of a function is. */
function arrowStart(text: string): number {
  return find(text, (index) => text.startsWith('=>', index))
}

/** The first place outside all brackets that is what is looked for; the end when there is none. */
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
