import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../../../node/command-table.ts'
import { examine } from '../../../node/commands/doctor/doctor.ts'
import { quietContext } from './context.ts'

const page = await readFile(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'operators.md'),
  'utf8',
)

/** The part of the page under a heading. */
const sectionOf = (heading: string): string =>
  page.split(/^##+ /m).find((section) => section.startsWith(heading)) ?? ''

describe('docs/operators.md', () => {
  for (const { name, flags } of commands) {
    it(`has ${name} with every flag`, () => {
      const section = sectionOf(name)
      expect(section).not.toBe('')
      for (const [usage] of flags) {
        const flag = usage.includes('<') ? usage : (usage.split(' ')[0] ?? '')
        expect(section).toContain(flag)
      }
    })
  }

  it('has every line of doctor with what to do', async () => {
    const context = quietContext({ SVC_CONFIG_PATH: '/nowhere/config.json' })
    await examine({ json: true }, context)
    const { checks } = JSON.parse(context.printed.join('')) as { checks: { name: string }[] }
    const section = sectionOf('When something does not work')
    expect(checks).toHaveLength(18)
    for (const { name } of checks) expect(section).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, 'm'))
  })
})
