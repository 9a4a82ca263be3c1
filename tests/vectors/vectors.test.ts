import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { answerCases } from './check/answers.ts'
import { envelopeCases } from './check/envelopes.ts'
import { ruleCases } from './check/rules.ts'
import { secretCases } from './check/secrets.ts'
import { vectorFiles, vectorPath, vectorText } from './files.ts'

describe('a file of vectors', () => {
  it.each(Object.entries(vectorFiles))('%s is what `npm run vectors` makes', async (name, make) => {
    expect(vectorText(await make())).toBe(await readFile(vectorPath(name), 'utf8'))
  })

  it.each(Object.keys(vectorFiles))(
    '%s has no text that strict readers of JSON refuse',
    async (name) => {
      // `JSON.stringify` escapes a surrogate only if it stands alone.
      expect(await readFile(vectorPath(name), 'utf8')).not.toMatch(/\\ud[89a-f]/)
    },
  )

  it('is made by the command', async () => {
    const names = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.json'))
    expect(new Set(names)).toEqual(new Set(Object.keys(vectorFiles)))
  })
})

it.each([...secretCases, ...envelopeCases, ...ruleCases, ...answerCases])(
  'what the vectors say $name',
  async ({ run }) => run(),
)
