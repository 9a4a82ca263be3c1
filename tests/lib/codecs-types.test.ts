import { expect, it } from 'vitest'
import type { Store } from '../../icl/store/store.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'

it('an address, a hash and a job id do not pass for one another, and each is hex text', () => {
  const [address, hash, jobId] = [
    anAddress(`0x${'a'.repeat(40)}`),
    aHash(`0x${'b'.repeat(64)}`),
    aJobId(`0x${'c'.repeat(64)}`),
  ]
  const texts: readonly `0x${string}`[] = [address, hash, jobId]
  expect(texts.map((text) => text.length)).toEqual([42, 66, 66])
  // @ts-expect-error a hash is no address
  const asAddress: Address = hash
  // @ts-expect-error a hash is no job id
  const asJobId: JobId = hash
  // @ts-expect-error a job id is no hash
  const asHash: Hash32 = jobId
  // @ts-expect-error text has to be parsed first
  const unparsed: Address = `0x${'a'.repeat(40)}`
  // @ts-expect-error a job is not found by an address
  const find = (store: Store) => store.findJob(address)
  expect([asAddress, asJobId, asHash, unparsed, find]).toHaveLength(5)
})
