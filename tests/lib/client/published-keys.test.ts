import { expect, it } from 'vitest'
import type { ClientContext } from '../../../lib/client/context.ts'
import { publishedKeys } from '../../../lib/client/published-keys.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

it('the keys of an ICL are asked for once a minute, and when it signs with another one', async () => {
  const clock = createVirtualClock()
  let x = 'old'
  let asked = 0
  const getJwks = async () => {
    asked += 1
    return {
      keys: [
        { kty: 'OKP', crv: 'Ed25519', x },
        { kty: 'EC', crv: 'P-256', x: 'other' },
      ],
    }
  }
  const context = { api: { getJwks }, clock } as unknown as ClientContext
  expect(await publishedKeys(context, 'old')).toEqual(['old'])
  expect(await publishedKeys(context, 'old')).toEqual(['old'])
  expect(asked).toBe(1)
  x = 'new'
  expect(await publishedKeys(context, 'new')).toEqual(['new'])
  // A key that was withdrawn is not known again.
  expect(await publishedKeys(context, 'old')).toEqual(['new'])
  expect(asked).toBe(3)
  await clock.advance(60_000)
  expect(await publishedKeys(context, 'new')).toEqual(['new'])
  expect(asked).toBe(4)
})
