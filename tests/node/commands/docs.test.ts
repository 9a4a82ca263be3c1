import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fieldsOf } from '../../../lib/host/program/option.ts'
import { svcNode } from '../../../node/command-table.ts'
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
  for (const { name, options } of svcNode.commands) {
    it(`has ${name} with every option`, () => {
      const section = sectionOf(name)
      expect(section).not.toBe('')
      for (const { name: option, value } of fieldsOf(options)) {
        expect(section).toContain(`\`${[option, value].filter(Boolean).join(' ')}`)
      }
    })
  }

  it('has every line of doctor with what to do', async () => {
    const context = quietContext({ SVC_CONFIG_PATH: '/nowhere/config.json' })
    await examine({ try: false, json: true }, context)
    const { checks } = JSON.parse(context.printed.join('')) as { checks: { name: string }[] }
    const section = sectionOf('When something does not work')
    expect(checks).toHaveLength(18)
    for (const { name } of checks) expect(section).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, 'm'))
  })
})
