import { beforeEach, describe, expect, it } from 'vitest'
import { promptOfText } from '../../lib/prompt.ts'
import { offerWhenReached } from '../../node/commands/offer-when-reached.ts'
import type { Completion } from '../../node/inference/provider.ts'
import { ProviderError } from '../../node/inference/provider-call.ts'
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
const ids = ['here:a', 'there:b', 'here:c']

let answers: Record<string, Answer>
let asked: string[]
/** Why a model gives no answer. */
let failures: Record<string, Error | undefined>
/** How many tokens are answered despite a failure: credit may be enough for few. */
let affordable: number
let stop: AbortController
beforeEach(() => {
  answers = { here: list, there: list }
  asked = []
  failures = {}
  affordable = 0
  stop = new AbortController()
})

function start() {
  const clock = createVirtualClock()
  const log = recordingLog()
  const providers = ['here', 'there'].map((name) => findProvider(name, settings))
  const fetch = async (request: Request) => answers[new URL(request.url).hostname]!()
  const complete = async ({
    model,
    maxOutputTokens,
  }: Pick<Completion, 'model' | 'maxOutputTokens'>) => {
    asked.push(model)
    if (failures[model] && maxOutputTokens > affordable) throw failures[model]
    return { text: 'Yes.', ended: 'stop' } as const
  }
  const models = new Map(ids.map((id) => [id, { provider: { complete }, model: id }]))
  const offer = offerWhenReached(
    { models, keyless: new Map(), providers, log, stop: stop.signal },
    { environment: {}, fetch, clock },
  )
  // Watched from the start, whenever it is awaited.
  offer.catch(() => {})
  const reached = () => clock.until(offer)
  return { clock, log, reached, offer: async () => (await reached()).offer.now }
}

describe('the models that a daemon offers', () => {
  it('are those of providers that answer', async () => {
    const { offer, log } = start()
    expect(new Set((await offer()).keys())).toEqual(new Set(ids))
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

describe('the models of a provider that refuses a job', () => {
  const errorOf = (code: string, askedWaitMs?: number, retryable = false) =>
    new ProviderError(code, 'provider here failed', { hint: 'Mend it.', retryable, askedWaitMs })
  const refused = errorOf('provider-key-refused')

  async function startWithJob() {
    const started = start()
    const { models, offer } = await started.reached()
    const changes: string[][] = []
    offer.onChange(() => changes.push([...offer.now.keys()]))
    const job = async (id: string) =>
      await models
        .get(id)!
        .provider.complete({ model: id, prompt: promptOfText('Two?'), maxOutputTokens: 9 })
    const withdrawn = () =>
      [...offer.withdrawn].map(([id, { reason, leftMs }]) => [id, reason, leftMs()])
    return {
      ...started,
      job,
      changes,
      withdrawn,
      offered: () => ids.filter((id) => offer.now.has(id)),
    }
  }

  for (const code of ['provider-key-refused', 'provider-quota-used-up']) {
    it(`are not offered after ${code}, until each answers again`, async () => {
      const { clock, log, job, changes, withdrawn, offered } = await startWithJob()
      failures = { 'here:a': errorOf(code), 'here:c': errorOf(code) }
      await expect(job('here:a')).rejects.toThrow('provider here failed')
      expect(changes).toEqual([['there:b']])
      const named = ['here:a', 'here:c'].map((id) => [id, code, undefined])
      expect(withdrawn()).toEqual(named)
      expect(log.lines).toEqual([
        'WARNING Models are not offered for now: here:a, here:c: provider here failed. Mend it.',
      ])
      await clock.advance(3_600_000)
      expect(offered()).toEqual(['there:b'])
      failures['here:c'] = undefined
      await clock.advance(60_000)
      expect(offered()).toEqual(['there:b', 'here:c'])
      expect(withdrawn()).toEqual(named.slice(0, 1))
      failures['here:a'] = errorOf('provider-unavailable', undefined, true)
      await clock.advance(60_000)
      expect(offered()).toEqual(['there:b', 'here:c'])
      failures['here:a'] = errorOf('provider-answer-empty')
      await clock.advance(60_000)
      expect(offered()).toEqual(ids)
      expect(log.lines.slice(1)).toEqual([
        'INFO Offering here:c again',
        'INFO Offering here:a again',
      ])
    })
  }

  it('do not include a model that its provider has removed, until it answers again', async () => {
    const { clock, log, job, offered } = await startWithJob()
    failures['here:a'] = errorOf('provider-model-unknown')
    await expect(job('here:a')).rejects.toThrow('provider here failed')
    expect(offered()).toEqual(['there:b', 'here:c'])
    await clock.advance(3_600_000)
    expect(offered()).toEqual(['there:b', 'here:c'])
    failures['here:a'] = undefined
    await clock.advance(60_000)
    expect(offered()).toEqual(ids)
    expect(log.lines).toEqual([
      'WARNING Models are not offered for now: here:a: provider here failed. Mend it.',
      'INFO Offering here:a again',
    ])
    expect(asked).not.toContain('here:c')
  })

  it('are back at once when it was in passing, and jobs under way fail without further tries', async () => {
    const { clock, job, changes, offered } = await startWithJob()
    failures['here:a'] = refused
    const failed = [job('here:a'), job('here:a')]
    await Promise.allSettled(failed)
    failures['here:a'] = undefined
    await clock.advance(2_000)
    expect(offered()).toEqual(ids)
    expect(changes).toHaveLength(3)
    expect(asked.filter((model) => model === 'here:a')).toHaveLength(4)
  })

  it('are tried out with as many tokens as the job asked for: credit may be enough for few', async () => {
    const { clock, job, offered } = await startWithJob()
    affordable = 8
    failures['here:a'] = errorOf('provider-quota-used-up')
    await expect(job('here:a')).rejects.toThrow()
    await clock.advance(3_600_000)
    expect(offered()).not.toContain('here:a')
    affordable = 9
    await clock.advance(60_000)
    expect(offered()).toEqual(ids)
  })

  it('are tried out no earlier than the provider asks', async () => {
    const { clock, job, offered } = await startWithJob()
    failures['here:a'] = refused
    await expect(job('here:a')).rejects.toThrow()
    failures['here:a'] = errorOf('provider-rate-limited', 3_600_000, true)
    await clock.advance(60_000)
    const tried = asked.length
    await clock.advance(3_500_000)
    expect(asked).toHaveLength(tried)
    failures = {}
    await clock.advance(200_000)
    expect(offered()).toEqual(ids)
  })

  it('wait as long as a Retry-After that no job can wait for, a day at most', async () => {
    const { clock, job, offered, withdrawn } = await startWithJob()
    failures['here:a'] = errorOf('provider-rate-limited', 1e15, true)
    await expect(job('here:a')).rejects.toThrow()
    await clock.advance(86_399_000)
    expect(withdrawn()).toEqual([['here:a', 'provider-rate-limited', 1_000]])
    expect(offered()).toEqual(['there:b', 'here:c'])
    await clock.advance(1_000)
    expect(offered()).toEqual(ids)
    expect(asked).toEqual(['here:a'])
  })

  it('that wait for a rate limit are not offered after it while the key is refused', async () => {
    const { clock, job, offered } = await startWithJob()
    failures['here:a'] = errorOf('provider-rate-limited', 600_000, true)
    await expect(job('here:a')).rejects.toThrow()
    failures = { 'here:a': refused, 'here:c': refused }
    await expect(job('here:c')).rejects.toThrow()
    await clock.advance(3_600_000)
    expect(offered()).toEqual(['there:b'])
    failures = {}
    await clock.advance(60_000)
    expect(offered()).toEqual(ids)
  })

  it('stay offered after any other failure', async () => {
    const { job, changes } = await startWithJob()
    for (const code of ['provider-refused', 'provider-silent', 'provider-rate-limited']) {
      failures['here:a'] = errorOf(code, undefined, true)
      await expect(job('here:a')).rejects.toThrow()
    }
    failures['here:a'] = errorOf('provider-rate-limited', 29_000, true)
    await expect(job('here:a')).rejects.toThrow()
    expect(changes).toEqual([])
  })

  it('are tried out no more once the node stops', async () => {
    const { clock, job, offered } = await startWithJob()
    failures['here:a'] = refused
    await expect(job('here:a')).rejects.toThrow()
    stop.abort()
    failures = {}
    await clock.advance(60_000)
    expect(offered()).not.toContain('here:a')
  })
})
