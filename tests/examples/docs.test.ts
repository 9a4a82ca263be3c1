import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { docBlocks } from './doc-blocks.ts'
import { examplesRunElsewhere, runElsewhere } from './run-elsewhere.ts'
import { runHere } from './run-here.ts'

const root = join(import.meta.dirname, '..', '..')

async function examples(): Promise<readonly string[]> {
  const names = (await readdir(join(root, 'examples'))).filter((name) => name.endsWith('.ts'))
  return await Promise.all(names.map((name) => readFile(join(root, 'examples', name), 'utf8')))
}

const head = (text: string): string => text.split('\n')[0] ?? ''

describe('the code in the documentation', () => {
  it('is run by a test, or is an example that is run, or says why it is neither', async () => {
    const files = await examples()
    const blocks = await docBlocks(root)
    expect(blocks.length).toBeGreaterThan(20)
    const unknown = blocks.filter(
      (block) =>
        !files.includes(block.text) &&
        !runHere(block) &&
        !Object.keys(runElsewhere[block.file] ?? {}).some((begins) =>
          block.text.startsWith(begins),
        ),
    )
    expect(unknown.map(({ file, text }) => `${file}: ${head(text)}`)).toEqual([])
  })

  it('has no reason for a block that is gone', async () => {
    const blocks = await docBlocks(root)
    const stale = Object.entries(runElsewhere).flatMap(([file, those]) =>
      Object.keys(those).filter(
        (begins) => !blocks.some((block) => block.file === file && block.text.startsWith(begins)),
      ),
    )
    expect(stale).toEqual([])
  })

  it('shows or names every example that is run here', async () => {
    const files = (await docBlocks(root)).map(({ text }) => text)
    const guide = await readFile(join(root, 'docs', 'client.md'), 'utf8')
    const names = await readdir(join(root, 'examples'))
    const here = names.filter((name) => !Object.hasOwn(examplesRunElsewhere, name))
    const texts = await Promise.all(
      here.map((name) => readFile(join(root, 'examples', name), 'utf8')),
    )
    const isTold = (name: string, index: number) =>
      files.includes(texts[index] ?? '') || guide.includes(`\`examples/${name}\``)
    expect(here.filter((name, index) => !isTold(name, index))).toEqual([])
  })
})
