import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The pages that are part of the ICL's program, each with the module that holds it. */
const pages = [
  { folder: 'console', module: 'icl/console/page.generated.ts', title: 'Console' },
] as const
type Page = (typeof pages)[number]

async function buildScript(entry: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    format: 'esm',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    throw: true,
  })
  const [script] = outputs
  if (script === undefined || outputs.length !== 1) throw new Error(`${entry} is not one file`)
  // A browser would take these for the end of the script or the start of a comment.
  const text = (await script.text()).trim()
  return text.replace(/<(?=\/script|!--)/gi, '\\x3C')
}

/** Minifies CSS: removes comments and white space. */
const smallStyle = (css: string): string =>
  css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replace(/([{;][a-z-]+): /g, '$1:')
    .replaceAll(';}', '}')
    .trim()

/** Makes a page that loads nothing, not even an icon. */
const pageOf = (title: string, style: string, script: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body><div id="page"><noscript>This page needs JavaScript; what it shows is also in the API, see /docs.</noscript></div>
<script type="module">${script}</script></body></html>
`

const sourceOf = (text: string): string =>
  `sha256-${createHash('sha256').update(text).digest('base64')}`

/** Writes a text as source code in short lines, since a search prints whole lines. */
const literalOf = (text: string): string => {
  const pieces = text.match(/.{1,100}/gsu) ?? []
  return `[\n${pieces.map((piece) => `  ${JSON.stringify(piece)},\n`).join('')}].join('')`
}

/** Builds a module's text: the page with its script and style inside, and the hashes that its policy has to allow. */
async function buildPage({ folder, title }: Page): Promise<string> {
  const at = (name: string) => join(import.meta.dirname, folder, name)
  const style = smallStyle(await readFile(at('style.css'), 'utf8'))
  const script = await buildScript(at('main.tsx'))
  const line = (name: string, meaning: string, value: string) =>
    `/** ${meaning} */\nexport const ${name} = ${value}\n`
  return [
    `// Made by \`npm run build:pages\` of web/${folder}; not to be changed by hand.\n`,
    line(
      'scriptHash',
      "What the page's policy has to allow of scripts.",
      JSON.stringify(sourceOf(script)),
    ),
    line(
      'styleHash',
      "What the page's policy has to allow of styles.",
      JSON.stringify(sourceOf(style)),
    ),
    line('page', 'The whole page.', literalOf(pageOf(title, style, script))),
  ].join('\n')
}

/** Returns the text of each page's module. */
export const buildPages = (): Promise<
  readonly { readonly module: string; readonly text: string }[]
> => Promise.all(pages.map(async (page) => ({ module: page.module, text: await buildPage(page) })))

if (import.meta.main) {
  for (const { module, text } of await buildPages()) {
    await writeFile(join(root, module), text)
    console.log(`${module}: ${Buffer.byteLength(text)} bytes`)
  }
}
