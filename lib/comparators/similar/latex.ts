// Deeper nesting stays partly unwrapped, in every text alike.
const unwrappings = 3

const fraction = /\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g
const wrapper =
  /\\(?:text|mathrm|mathbf|mathbb|mathcal|operatorname|boxed|textbf|textit|emph)\s*\{([^{}]*)\}/g

/** Removes LaTeX's delimiters and commands. Fractions and relations become operators. */
export function withoutLatex(text: string): string {
  if (!/[\\${}]/.test(text)) return text
  let plain = text
    .replace(/\\[()[\]]|\${1,2}/g, ' ')
    .replace(/\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])|\\[,;!:]/g, ' ')
  for (let round = 0; round < unwrappings; round++) {
    plain = plain.replace(fraction, ' $1 / $2 ').replace(wrapper, ' $1 ')
  }
  return plain
    .replace(/\\(?:cdot|times|ast)(?![a-zA-Z])/g, ' * ')
    .replace(/\\(?:leq?|leqslant)(?![a-zA-Z])/g, ' <= ')
    .replace(/\\(?:geq?|geqslant)(?![a-zA-Z])/g, ' >= ')
    .replace(/\\neq?(?![a-zA-Z])/g, ' != ')
    .replace(/\\([a-zA-Z]+)/g, ' $1 ')
    .replace(/[{}]/g, ' ')
}

/** Returns the content of the last closed `\boxed{...}`; undefined without one. */
export function lastBoxed(text: string): string | undefined {
  if (!text.includes('\\boxed')) return undefined
  const opened: { readonly at: number; readonly boxed: boolean }[] = []
  let last: string | undefined
  for (const { 0: mark, index } of text.matchAll(/\\boxed\s*\{|[{}]/g)) {
    if (mark !== '}') {
      opened.push({ at: index + mark.length, boxed: mark.length > 1 })
      continue
    }
    const start = opened.pop()
    if (start?.boxed) last = text.slice(start.at, index)
  }
  return last
}
