import { keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Address } from '../../lib/codecs.ts'
import { deliverers, settled } from '../../lib/delivery-rule.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { aJobId, anAddress } from '../branded.ts'

const jobId = aJobId(`0x${'ab'.repeat(32)}`)
const addressOf = (digit: number): Address => anAddress(`0x${String(digit).repeat(40)}`)
const revealed = (...fills: readonly number[]) =>
  fills.map((fill, at) => ({
    address: addressOf(at + 1),
    salt: toBase64Url(new Uint8Array(32).fill(fill)),
  }))
const group = [1, 2, 3].map(addressOf)

describe('who delivers', () => {
  it('is drawn by the hash of entropy and address', () => {
    const bytes = Buffer.concat([
      Buffer.from('svc-deliver-v2'),
      Buffer.from(jobId.slice(2), 'hex'),
      ...[7, 8, 9, 10].map((fill) => Buffer.alloc(32, fill)),
    ])
    const entropy = keccak256(bytes)
    const expected = group.toSorted((a, b) => {
      const [one, other] = [a, b].map((address) => keccak256(`${entropy}${address.slice(2)}`))
      return (one ?? '') < (other ?? '') ? -1 : 1
    })
    expect(deliverers(jobId, revealed(7, 8, 9, 10), group)).toEqual(expected)
    expect(deliverers(jobId, revealed(7, 8, 9, 10), group.toReversed())).toEqual(expected)
  })

  it('hangs on every salt, those of answers outside the group too, and on the job', () => {
    const firsts = (change: (draw: number) => readonly Address[]) =>
      new Set(Array.from({ length: 40 }, (_, draw) => change(draw)[0]))
    expect(firsts((draw) => deliverers(jobId, revealed(1, 2, 3, draw), group)).size).toBe(3)
    expect(firsts((draw) => deliverers(jobId, revealed(draw, 2, 3, 4), group)).size).toBe(3)
    const jobOf = (draw: number) => aJobId(`0x${draw.toString(16).padStart(64, '0')}`)
    expect(firsts((draw) => deliverers(jobOf(draw), revealed(1, 2, 3), group)).size).toBe(3)
  })
})

it.each([
  [['match'], false, 'settled'],
  [['no-match'], false, 'output-refused'],
  [['match', 'no-match'], false, 'settled'],
  [['match', 'no-match', 'no-match'], false, 'output-refused'],
  [['match', 'match', 'no-match'], false, 'settled'],
  [['match', undefined], false, 'waiting'],
  [['no-match', undefined], false, 'waiting'],
  [['match', undefined], true, 'settled'],
  [['match', 'no-match', undefined], true, 'settled'],
  [['no-match', undefined], true, 'output-refused'],
  [[undefined, undefined], true, 'never-checked'],
  [[undefined, undefined], false, 'waiting'],
] as const)('a delivery with the checks %j, time up: %s, is %s', (checks, isTimeUp, outcome) => {
  expect(settled(checks, isTimeUp)).toBe(outcome)
})
