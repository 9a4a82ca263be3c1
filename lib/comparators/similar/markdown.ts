// Back-ticks have already become apostrophes. After a fence, only the name of a language is not content.
const fence = /^[ \t]*(?:'{3,}|~{3,})(?:[ \t]*[\w+#.-]{1,20})?[ \t]*$/gm
const ruler = /^[ \t]*(?:[-*_=][ \t]*){3,}$/gm
const tableRule = /^(?=[^|\n]*\|)[ \t|:+-]+$/gm
const quoteOrHeading = /^[ \t>]*(?:#{1,6}[ \t]+)?/gm
const headingEnd = /[ \t]#+[ \t]*$/gm
// "(B) ..." is content. Only plain numbers and bullets mark a list item.
const listMark = /^[ \t]*(?:[-*+\u2022\u25cf\u25aa\u00b7][ \t]+|\d{1,3}[.)][ \t]+)/gm
const strong = /\*{2,3}|(?<![\p{L}\p{N}])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![\p{L}\p{N}])/gu
const emphasis = /(^|[\s(])\*(?=[^\s*])([^*\n]*[^\s*])\*(?=[\s).,;:!?]|$)/gm

/** Removes Markdown: headings, lists, emphasis, fences, tables, quotes. Links keep their words, their target and their title. */
export const withoutMarkdown = (text: string): string =>
  withoutLinks(text.replace(fence, ' '))
    .replace(ruler, ' ')
    .replace(tableRule, ' ')
    .replace(quoteOrHeading, '')
    .replace(headingEnd, '')
    .replace(listMark, '')
    .replace(strong, '')
    .replace(emphasis, '$1$2')
    .replace(/\|/g, ' ')

/** Turns `[words](target)` into `words target`, in a single pass. A pattern would start again at every open bracket. */
function withoutLinks(text: string): string {
  if (!text.includes('](')) return text
  const parts: string[] = []
  const nextClose = finder(text, ')')
  const nextLine = finder(text, '\n')
  let kept = 0
  let open = -1
  for (const { 0: mark, index } of text.matchAll(/\[|\]\(?|\n/g)) {
    if (index < kept) continue
    if (mark === '[') open = index
    else if (mark === '](' && open >= 0) {
      const close = nextClose(index)
      if (close < nextLine(index)) {
        const target = text.slice(index + 2, close)
        parts.push(text.slice(kept, open).replace(/!$/, ''), text.slice(open + 1, index))
        parts.push(' ', target, ' ')
        kept = close + 1
      }
      open = -1
    } else open = -1
  }
  return parts.join('') + text.slice(kept)
}

/** Finds the next position of a character. Calls must move forward, so that all together scan the text once. */
function finder(text: string, character: string): (from: number) => number {
  let found = -1
  return (from) => {
    if (found < from) {
      const next = text.indexOf(character, from)
      found = next < 0 ? Number.POSITIVE_INFINITY : next
    }
    return found
  }
}
