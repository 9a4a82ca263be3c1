import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const redoc = join(root, 'node_modules', 'redoc')

/** The folder of the script that an ICL serves at `/docs/redoc.js`. */
const docsFolder = join(root, 'dist', 'docs')

// The page's policy allows neither: a logo from elsewhere, and the style of scrollbars that the page does not use.
const refused = [
  [
    /"https:\/\/cdn\.redoc\.ly\/[\w./-]+\.svg"/g,
    '"data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 width=%221%22 height=%221%22/%3E"',
  ],
  [/(?<=\[\w\.id,)"\.ps\{(?:[^"\\]|\\.)*","",\{version:3,.*?sourceRoot:""\}/g, '""'],
] as const

/** Builds the script that makes the API reference interactive: the licences, Redoc, and its start on this page. */
export async function buildDocs(folder = docsFolder): Promise<string> {
  const read = (...path: string[]) => readFile(join(...path), 'utf8')
  let code = await read(redoc, 'bundles', 'redoc.standalone.js')
  for (const [pattern, value] of refused) {
    const found = code.match(pattern)?.length
    if (found !== 1) {
      throw new Error(
        `Redoc has ${pattern} ${found ?? 0} times, not once: adapt web/build-docs.ts to its version`,
      )
    }
    code = code.replace(pattern, value)
  }
  const licences = [
    await read(redoc, 'LICENSE'),
    await read(redoc, 'bundles', 'redoc.standalone.js.LICENSE.txt'),
  ].map((text) => `/*!\n${text.replaceAll('*/', '* /')}\n*/\n`)
  const start = await read(import.meta.dirname, 'docs', 'start.js')
  const file = join(folder, 'redoc.js')
  await mkdir(folder, { recursive: true })
  await writeFile(file, [...licences, code, '\n', start].join(''))
  return file
}

if (import.meta.main) console.log(await buildDocs())
