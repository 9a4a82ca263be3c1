import { describe, expect, it } from 'vitest'
import { countedTexts } from '../../lib/counted-events.ts'
import type { ReputationStatement } from '../../lib/schemas/nodes.ts'
import { aJobId, anAddress } from '../branded.ts'

const address = anAddress(`0x${'a'.repeat(40)}`)
const client = anAddress(`0x${'c'.repeat(40)}`)
const daySeconds = 86_400

const body = (
  id: string,
  at: number,
  changes: Partial<ReputationStatement> = {},
): ReputationStatement => ({
  statement: 'svc-reputation-v2',
  ...{ id, address, at, client },
  jobId: aJobId(`0x${'1'.repeat(64)}`),
  code: 'answer-contradicted',
  ...changes,
})
const textsOf = (...args: Parameters<typeof countedTexts>) =>
  Object.fromEntries(countedTexts(...args))

describe('what the latest events of a node counted', () => {
  const again = { code: 'answer-agreed', again: true } as const
  const days = [
    body('1', 10),
    body('2', daySeconds + 10, { code: 'never-checked', client: 'newcomers' }),
    body('3', daySeconds + 11, { code: 'offer-lapsed', client: 'newcomers' }),
    body('4', daySeconds + 12, again),
    body('5', daySeconds + 13, { code: 'from-a-later-version' }),
  ]
  const bounded = 'bounded by what all clients may move in a day'
  const notAgain = 'not again for the same partners on this day'

  it('is said in words where it is less than their worth, whatever their order', () => {
    const texts = { 1: bounded, 3: bounded, 4: notAgain }
    expect(textsOf(days, true)).toEqual(texts)
    expect(textsOf(days.toReversed(), true)).toEqual(texts)
    expect(textsOf([], true)).toEqual({})
  })

  it('is not guessed for the first day, when what came before is unknown', () => {
    expect(textsOf(days, false)).toEqual({ 3: bounded, 4: notAgain })
    expect(textsOf(days.slice(1), false)).toEqual({ 4: notAgain })
  })
})
