import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { misspeltName, nearestName } from '../../../lib/host/nearest.ts'
import { fieldsOf } from '../../../lib/host/program/option.ts'
import { readCommandLine } from '../../../lib/host/program/program.ts'
import { printable } from '../../../lib/printable.ts'
import { svcNode } from '../../../node/command-table.ts'
import { expectTyped, expectUnpolluted, forAll, itHolds } from './runs.ts'

const { commands } = svcNode
const words = commands.flatMap(({ options }) => fieldsOf(options).map(({ name }) => name))
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
        ({ name }, args) => {
          try {
            readCommandLine(svcNode, [...name.split(' '), ...args])
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
      for (const near of [nearestName(typed, names), misspeltName(typed, names)]) {
        expect(near === undefined || names.includes(near)).toBe(true)
      }
    })
  })

  itHolds('print nothing that a terminal obeys', () =>
    forAll(300, fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
      expect(printable(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }),
  )
})
