import { withShortMarkRuns } from '../../evidence.ts'
import { withoutLatex } from './latex.ts'
import { withoutMarkdown } from './markdown.ts'

// NFKC turns some characters into 18. A text that would grow beyond the largest blob is compared without NFKC.
const maxPlainCharacters = 1_048_576

// Only these tags are removed. Others are content, above all in code (`List<string>`).
const markup: ReadonlySet<string> = new Set(
  `a abbr b big blockquote br center code dd del details div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li
  mark ol p pre q s small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var`.split(
    /\s+/,
  ),
)

/** Removes mark-up, so that texts with the same words, numbers and operators are equal in any formatting. Takes linear time. */
export const plainTextOf = (text: string): string =>
  withoutMarkdown(withoutTags(withoutLatex(withPlainCharacters(text))))

/** Unifies characters that look or mean the same (quotes, dashes, line ends), and removes invisible ones. */
function withPlainCharacters(text: string): string {
  return compatible(withPlainPowers(withShortMarkRuns(text)))
    .replace(/\r\n?/g, '\n')
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .replaceAll('\u034f', '')
    .replace(/[\u2018-\u201b\u2032`\u00b4]/g, "'")
    .replace(/[\u201c-\u201f\u2033\u00ab\u00bb]/g, '"')
    .replace(/[\u2010-\u2012\u2212]/g, '-')
    .replace(/[\u2013-\u2015]/g, ' - ')
    .replace(/\u00d7/g, ' * ')
    .replace(/\u00f7/g, ' / ')
    .replace(/[\u2044\u2215]/g, '/')
    .replace(/\u2264/g, ' <= ')
    .replace(/\u2265/g, ' >= ')
    .replace(/\u2260/g, ' != ')
}

/** NFKC would turn a ten with a raised two into 102, and 1½ into 11/2. */
const withPlainPowers = (text: string): string =>
  text
    .replace(/[\u00b2\u00b3\u00b9\u2070\u2074-\u207b]+/g, '^$&')
    .replace(/(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f\u2189])/g, ' ')

function compatible(text: string): string {
  const composed = text.normalize('NFKC')
  return composed.length <= maxPlainCharacters ? composed : text
}

/** Removes tags of mere formatting. Their attributes stay, because a link may be among them. */
const withoutTags = (text: string): string =>
  text.replace(
    /<\/?([a-zA-Z][a-zA-Z0-9]{0,11})(?![a-zA-Z0-9])([^<>\n]{0,240})>/g,
    (tag: string, name: string, attributes: string) =>
      markup.has(name.toLowerCase()) ? ` ${attributes.replace(/\/$/, '')} ` : tag,
  )
