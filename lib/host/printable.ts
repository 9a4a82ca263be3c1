// Control characters move the cursor or end a line, and some marks turn the direction of what follows: a text from elsewhere could
// overwrite or forge what stands beside it on a terminal or in a log.

const controlling = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

const escaped = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`

/** A text for a terminal: all that controls it becomes an escape, but for tabs and line breaks. */
export const printable = (text: string): string =>
  text.replace(controlling, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )

/** A text on one line: line breaks become `\n`, and all else that controls a terminal an escape. */
export const printableLine = (text: string): string =>
  text.replace(controlling, (character) => (character === '\n' ? '\\n' : escaped(character)))

/** JSON on one line, the same value: JSON leaves some characters as they are that a terminal obeys. */
export const printableJson = (json: string): string => json.replace(controlling, escaped)
