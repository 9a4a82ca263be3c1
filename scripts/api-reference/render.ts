import type { ApiSymbol } from './read-symbols.ts'

const isCallable = ({ kind, text }: ApiSymbol): boolean =>
  kind === 'function' || /^const \w+ = (async )?\(/.test(text)

const section = (title: string, symbols: readonly ApiSymbol[]): string => {
  const sorted = [...symbols].sort((a, b) => (a.name < b.name ? -1 : 1))
  const parts = sorted.map(
    ({ name, doc, text }) => `### ${name}\n\n${doc}\n\n\`\`\`ts\n${text}\n\`\`\`\n`,
  )
  return `## ${title}\n\n${parts.join('\n')}`
}

/** Renders the reference page of a module as Markdown. */
export function renderReference(
  module: string,
  { about, symbols }: { readonly about: string; readonly symbols: readonly ApiSymbol[] },
): string {
  const functions = symbols.filter(isCallable)
  const others = symbols.filter((symbol) => !isCallable(symbol))
  return [
    `# \`${module}\`\n`,
    `${about}\n`,
    'Made from the docstrings by `npm run docs:api`; [client.md](../client.md) tells how it is used.\n',
    section('Functions', functions),
    section('Types, schemas and values', others),
  ].join('\n')
}
