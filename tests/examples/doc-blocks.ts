import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A block of code in the documentation. */
export type DocBlock = {
  /** From the root of the sources. */
  readonly file: string
  readonly language: string
  readonly text: string
}

const codeLanguages = ['ts', 'js', 'sh', 'bash', 'shell', 'python']

/** Every block of README.md and docs/*.md that is code to run. */
export async function docBlocks(root: string): Promise<readonly DocBlock[]> {
  const inDocs = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
  const files = ['README.md', ...inDocs.map((name) => `docs/${name}`)]
  const blocks = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, file), 'utf8')
      return [...text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)].map(
        ([, language = '', code = '']) => ({ file, language, text: code }),
      )
    }),
  )
  return blocks.flat().filter(({ language }) => codeLanguages.includes(language))
}
