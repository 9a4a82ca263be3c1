import { beforeEach, describe, expect, it } from 'vitest'
import { offerWhenReached } from '../../node/commands/offer-when-reached.ts'
import { findProvider } from '../../node/inference/providers.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { recordingLog } from './fakes.ts'

type Answer = () => Response
const list: Answer = () => Response.json({ data: [] })
const away: Answer = () => {
  throw Object.assign(new TypeError('no connection'), { code: 'ECONNREFUSED' })
}
const page: Answer = () =>
  new Response('<html>Sign in</html>', { headers: { 'content-type': 'text/html' } })

const settings = {
  providers: {
    here: { base_url: 'http://here:1', allow_http: false },
    there: { base_url: 'http://there:1', allow_http: false },
  },
}
const offered = { provider: { complete: async () => '' }, model: 'x' }
const models = new Map(['here:a', 'there:b', 'here:c'].map((id) => [id, offered]))

let answers: Record<string, Answer>
let stop: AbortController
beforeEach(() => {
  answers = { here: list, there: list }
  stop = new AbortController()
})

function start() {
  const clock = createVirtualClock()
  const log = recordingLog()
  const providers = ['here', 'there'].map((name) => findProvider(name, settings))
  const fetch = async (request: Request) => answers[new URL(request.url).hostname]!()
  const offer = offerWhenReached(
    { models, providers, log, stop: stop.signal },
    { environment: {}, fetch, clock },
  )
  // Watched from the start, whenever it is awaited.
  offer.catch(() => {})
  return { clock, log, offer: () => clock.until(offer) }
}

describe('the models that a daemon offers', () => {
  it('are those of providers that answer', async () => {
    const { offer, log } = start()
    expect(new Set((await offer()).keys())).toEqual(new Set(models.keys()))
    expect(log.lines).toEqual([])
  })

  it('come to include those of a provider that was away, once it answers', async () => {
    answers.there = away
    const { clock, log, offer } = start()
    const now = await offer()
    expect([...now.keys()]).toEqual(['here:a', 'here:c'])
    expect(log.lines).toEqual([
      expect.stringMatching(
        /^WARNING Models of there are not offered yet, next try in 2 s: .*nothing listens at there:1/,
      ),
    ])
    answers.there = list
    await clock.advance(2_000)
    expect([...now.keys()]).toEqual(['here:a', 'here:c', 'there:b'])
    expect(log.lines.at(-1)).toBe('INFO The provider there responds now: offering there:b')
  })

  it('may be none yet when every provider is away', async () => {
    answers = { here: away, there: away }
    const { offer } = start()
    expect((await offer()).size).toBe(0)
    stop.abort()
  })

  it('leave out a provider that the operator has to mend, also when that shows later', async () => {
    answers = { here: page, there: away }
    const { clock, log, offer } = start()
    const now = await offer()
    expect(now.size).toBe(0)
    expect(log.lines).toContainEqual(
      expect.stringMatching(/^ERROR Models of here are not offered: .* Correct the base URL/),
    )
    answers.there = page
    await clock.advance(2_000)
    expect(now.size).toBe(0)
    expect(log.lines.at(-1)).toMatch(/^ERROR Models of there are not offered: /)
  })

  it('are an error when no provider is left', async () => {
    answers = { here: page, there: page }
    await expect(start().offer()).rejects.toMatchObject({ code: 'provider-protocol-wrong' })
  })
})
