import { systemClock } from '../../lib/system.ts'
import type { Fate } from '../e2e/proxy.ts'
import { type FaultKind, last } from './stage.ts'
import type { World } from './world.ts'

const slowMs = 3_000

/** What a bad server or way to it does to each request, until `lifted`. */
const conducts: Readonly<Record<string, (lifted: Promise<void>) => () => Fate | Promise<Fate>>> = {
  reset: () => () => 'lose-request',
  'lost answers': () => () => ({ loseAnswer: () => {} }),
  'half answers': () => () => 'cut-answer',
  stall: (lifted) => () => lifted.then((): Fate => 'lose-request'),
  slow: (lifted) => async (): Promise<Fate> => {
    await Promise.race([systemClock.sleep(slowMs), lifted])
    return 'pass'
  },
  'status 500': () => () => ({ status: 500, json: { error: { message: 'broken' } } }),
  'status 429': () => () => ({
    ...{ status: 429, json: { error: { message: 'too many' } } },
    headers: { 'retry-after': '1' },
  }),
  'a page of HTML': () => () => ({
    ...{ status: 200, json: '<html>Log in first</html>' },
    headers: { 'content-type': 'text/html' },
  }),
}

/** Faults on the way to one server. */
const networkOf = (name: string, place: keyof World['proxies']): FaultKind => ({
  name,
  stores: ['sqlite'],
  put: async (stage) => {
    const proxy = stage.world.proxies[place]
    const [what, conduct] = stage.dice.pick(Object.entries(conducts))
    const lifted = Promise.withResolvers<void>()
    proxy.decide = conduct(lifted.promise)
    const how = await last(stage, 5, 30)
    proxy.decide = undefined
    lifted.resolve()
    return `${what} for ${how}`
  },
})

/** Faults between the parts. */
export const networkKinds: readonly FaultKind[] = [
  networkOf('icl-network', 'icl'),
  networkOf('chain-rpc', 'rpc'),
  networkOf('provider', 'provider'),
]
