// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal.
const controlling = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** A text that moves no cursor and turns no direction, whoever wrote it: control characters but tabs and line breaks become escapes. */
export const printable = (text: string): string =>
  text.replace(
    controlling,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
