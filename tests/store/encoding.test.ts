import { expect, it } from 'vitest'
import type { Job } from '../../icl/rules/job.ts'
import { decodeDocument, encodeDocument } from '../../icl/store/encoding.ts'
import { jobOf } from './suite.ts'

it('writes documents as text that reads back the same', () => {
  const job = jobOf('1', { clientNonce: 2n ** 256n - 1n, modelId: 'x:{"$bigint":"5"}' })
  expect(decodeDocument<Job>(encodeDocument(job))).toEqual(job)
})

it('reads bigints wherever they stand, and takes nothing else for one', () => {
  const text =
    '{"a":[{"$bigint":"7"},[{"b":{"$bigint":"-8"}}],null,{"$bigint":9}],"__proto__":{"$bigint":"1"}}'
  const found = decodeDocument(text) as unknown as Record<string, unknown>
  expect(found.a).toEqual([7n, [{ b: -8n }], null, { $bigint: 9 }])
  expect(Object.getOwnPropertyDescriptor(found, '__proto__')?.value).toBe(1n)
  expect(Object.getPrototypeOf(found)).toBe(Object.prototype)
})

it('says so when the text is not one of its own', () => {
  expect(() => decodeDocument('{')).toThrow(SyntaxError)
  expect(() => decodeDocument('{"a":{"$bigint":"x"}}')).toThrow(SyntaxError)
})

it('writes values of every kind as JSON does, whatever stands beside them', () => {
  const kinds = {
    none: undefined,
    null: null,
    list: [1, undefined, null, 'a', { b: undefined, c: [2] }, []],
    empty: {},
    'a "key"': { deep: { deeper: { n: 1 } }, text: 'x' },
    number: -0.5,
  }
  const text = encodeDocument(kinds as never)
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(kinds)))
  expect(encodeDocument({ list: [3n, [4n]] } as never)).toBe(
    '{"list":[{"$bigint":"3"},[{"$bigint":"4"}]]}',
  )
})
