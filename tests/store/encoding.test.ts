import { expect, it } from 'vitest'
import type { Job } from '../../icl/rules/job.ts'
import { decodeDocument, encodeDocument } from '../../icl/store/encoding.ts'
import { jobOf } from './suite.ts'

it('writes documents as text that reads back the same', () => {
  const job = jobOf('1', { clientNonce: 2n ** 256n - 1n, modelId: 'x:{"$bigint":"5"}' })
  expect(decodeDocument<Job>(encodeDocument(job))).toEqual(job)
})

it('says so when the text is not one of its own', () => {
  expect(() => decodeDocument('{')).toThrow(SyntaxError)
  expect(() => decodeDocument('{"a":{"$bigint":"x"}}')).toThrow(SyntaxError)
})
