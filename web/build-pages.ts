import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pageStyle } from '../lib/page-header.ts'
import { buildDocs } from './build-docs.ts'
import { bundle } from './bundle.ts'

const root = join(import.meta.dirname, '..')

/** The page that is part of the ICL's program, and the module that holds it. */
const folder = 'console'
const module = 'icl/console/page.generated.ts'

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
const pageOf = (style: string, script: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Console</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body><div id="page"><noscript>This page needs JavaScript; what it shows is also in the API, see /docs.</noscript></div>
<script type="module">${script}</script></body></html>
`

const sourceOf = (text: string): string =>
  JSON.stringify(`sha256-${createHash('sha256').update(text).digest('base64')}`)

/** Writes a text as source code in short lines, since a search prints whole lines. */
const literalOf = (text: string): string => {
  const pieces = text.match(/.{1,100}/gsu) ?? []
  return `[\n${pieces.map((piece) => `  ${JSON.stringify(piece)},\n`).join('')}].join('')`
}

/** Builds the module's text: the page with its script and style inside, and the hashes that its policy has to allow. */
export async function buildConsole(): Promise<{ readonly module: string; readonly text: string }> {
  const read = (name: string) => readFile(join(import.meta.dirname, name), 'utf8')
  const style = smallStyle(pageStyle + (await read(`${folder}/style.css`)))
  // A browser would take these for the end of the script or the start of a comment.
  const script = (await bundle(join(import.meta.dirname, folder, 'main.tsx')))
    .trim()
    .replace(/<(?=\/script|!--)/gi, '\\x3C')
  const line = (name: string, meaning: string, value: string) =>
    `/** ${meaning} */\nexport const ${name} = ${value}\n`
  const text = [
    `// Made by \`npm run build:pages\` of web/${folder}; not to be changed by hand.\n`,
    line('scriptHash', "What the page's policy has to allow of scripts.", sourceOf(script)),
    line('styleHash', "What the page's policy has to allow of styles.", sourceOf(style)),
    line('page', 'The whole page.', literalOf(pageOf(style, script))),
  ].join('\n')
  return { module, text }
}

if (import.meta.main) {
  const { text } = await buildConsole()
  await writeFile(join(root, module), text)
  console.log(`${module}: ${Buffer.byteLength(text)} bytes`)
  console.log(await buildDocs())
}
