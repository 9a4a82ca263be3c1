// Control characters move the cursor or end a line, and some marks reverse the direction of text. A text from outside could overwrite or
// forge the text beside it on a terminal or in a log.

const controlling = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

const escaped = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`

/** Escapes all characters of a text that control a terminal, except tabs and line breaks. */
export const printable = (text: string): string =>
  text.replace(controlling, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )

/** Makes a text one line: line breaks become `\n`, and other characters that control a terminal are escaped. */
export const printableLine = (text: string): string =>
  text.replace(controlling, (character) => (character === '\n' ? '\\n' : escaped(character)))

/** Joins the lines of a text from elsewhere with spaces, and makes it printable. */
export const oneLine = (text: string): string =>
  printableLine(text.replaceAll('\r\n', '\n').replace(/\n\s*/g, ' '))

/** Escapes characters in one line of JSON that a terminal obeys. The value stays the same. */
export const printableJson = (json: string): string => json.replace(controlling, escaped)
