import { expect, it } from 'vitest'
import { Address, JobId } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'

const address = (byte: string) => Address.parse(`0x${byte.repeat(20)}`)
const jobId = JobId.parse(`0x${'ab'.repeat(32)}`)
const list = ['01', '02', '03'].map(address)
const terms = { jobId, activator: address('aa'), until: 1_800_000_000, list }

// That PromptKeyStore computes the same is held by tests/lib/chain/key-lists.test.ts.
it('the commitment of a list changes with job, activator, end, members and order', () => {
  const others = [
    { ...terms, jobId: JobId.parse(`0x${'ac'.repeat(32)}`) },
    { ...terms, activator: address('ab') },
    { ...terms, until: 1_800_000_001 },
    { ...terms, list: list.slice(0, 2) },
    { ...terms, list: list.toReversed() },
  ]
  const all = [terms, ...others].map(listCommitment)
  expect(new Set(all).size).toBe(6)
})
