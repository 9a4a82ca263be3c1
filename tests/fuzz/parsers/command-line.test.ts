import { cac } from 'cac'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { nearestName } from '../../../lib/host/nearest.ts'
import { printable } from '../../../lib/printable.ts'
import { commands } from '../../../node/command-table.ts'
import { readArguments, readFlags } from '../../../node/commands/flags.ts'
import { expectTyped, expectUnpolluted, forAll, itHolds } from './runs.ts'

const words = commands.flatMap(({ flags }) => flags.map(([usage]) => usage.split(' ')[0] ?? ''))
const word = fc.oneof(
  fc.constantFrom(...words),
  fc.constantFrom(
    '--',
    '-',
    '--=',
    '--no-mock',
    '--__proto__.polluted',
    '--constructor.prototype.x=1',
    '-abc',
    '--models=a',
    '1e3',
    '0x10',
    '',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

describe('command lines', () => {
  itHolds(
    'of any words are read or refused with a hint, and leave every object alone',
    async () => {
      await forAll(
        300,
        fc.constantFrom(...commands),
        fc.array(word, { maxLength: 6 }),
        (spec, args) => {
          const cli = cac('svc-node')
          const command = cli.command(spec.name, spec.summary)
          for (const [usage, meaning] of spec.flags) command.option(usage, meaning)
          command.allowUnknownOptions()
          try {
            const { options, args: rest } = cli.parse(['node', 'svc-node', spec.name, ...args], {
              run: false,
            })
            const flags = readFlags(options, args, spec.flags, spec.name)
            for (const value of Object.values(flags)) {
              expect(['string', 'boolean', 'undefined']).toContain(typeof value)
            }
            for (const each of readArguments(rest, args)) expect(typeof each).toBe('string')
          } catch (error) {
            expectTyped(error)
          }
        },
      )
      expectUnpolluted()
    },
  )

  itHolds('that are misspelt are compared without an error', async () => {
    const names = commands.map(({ name }) => name)
    await forAll(200, fc.string({ unit: 'binary', maxLength: 40 }), (typed) => {
      const near = nearestName(typed, names)
      expect(near === undefined || names.includes(near)).toBe(true)
    })
  })

  itHolds('print nothing that a terminal obeys', () =>
    forAll(300, fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
      expect(printable(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }),
  )
})
