import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { breadAnswer, liftAnswer } from '../lib/comparators/texts.ts'
import { type ProviderCall, type ProviderServer, startProviderServer } from './provider-server.ts'

const model = 'openai:gpt-4o-mini'
const keyOf = (index: number) => `key-of-node-${index + 1}`

let world: World
let provider: ProviderServer
let answer: (call: ProviderCall) => string | undefined = () => ''

beforeAll(async () => {
  provider = await startProviderServer((call) => answer(call))
  world = await startWorld({
    models: [model],
    nodes: 4,
    providerEnv: (index) => ({
      OPENAI_API_KEY: keyOf(index),
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    }),
  })
})
afterAll(async () => {
  await world?.stop()
  await provider.stop()
})

describe('with a node to spare', () => {
  it('a verifier that differs is outvoted by one more, which is granted the key by delegation', async () => {
    // The last of the three to ask is never the leader of more than one in three jobs: tried until a verifier is odd.
    for (let attempt = 0; attempt < 6; attempt++) {
      let odd: string | undefined
      const asked: string[] = []
      const [right, wrong] = [`${liftAnswer} ${randomUUID()}`, breadAnswer]
      answer = ({ key }) => {
        asked.push(key)
        odd ??= key
        return key === odd ? wrong : right
      }
      // What other comparators make of unrelated answers has a little chance in it.
      const wish = { prompt: `Is it ${randomUUID()}?`, model, comparator: 'exact' } as const
      const result = await ask(world, wish)
      const oddNode = world.nodes[Number(odd?.replace('key-of-node-', '')) - 1]?.address
      if (result.leader === oddNode) {
        // An odd leader is outvoted, and there is no second quorum in a pool of four.
        expect(result).toMatchObject({ status: 'rejected', reason: 'not-enough-nodes' })
        continue
      }
      if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
      expect(result.output).toBe(right)
      expect(asked).toHaveLength(4)
      const verdictOf = new Map(result.verdicts.map(({ node, verdict }) => [node, verdict]))
      expect(verdictOf.size).toBe(3)
      expect(verdictOf.get(oddNode ?? '0x')).toBe('no-match')
      expect([...verdictOf.values()].filter((verdict) => verdict === 'match')).toHaveLength(2)
      return
    }
    throw new Error('The odd node led every time')
  })

  it('jobs of one client side by side all get their answers', async () => {
    answer = () => 'the same for all'
    const jobs = [1, 2].map((job) => ask(world, { prompt: `Job ${job} of ${randomUUID()}`, model }))
    for (const result of await Promise.all(jobs)) {
      expect(result).toMatchObject({ status: 'accepted', output: 'the same for all' })
    }
  })

  it('a node whose provider refuses its key is replaced', async () => {
    let refused: string | undefined
    answer = ({ key }) => {
      refused ??= key
      return key === refused ? undefined : 'the answer'
    }
    const result = await ask(world, { prompt: `Who answers ${randomUUID()}?`, model })
    expect(result).toMatchObject({ status: 'accepted', output: 'the answer' })
    const gone = world.nodes[Number(refused?.replace('key-of-node-', '')) - 1]?.address
    const took = [result.leader, ...result.verdicts.map(({ node }) => node)]
    expect(took).not.toContain(gone)
    expect(took).toHaveLength(3)
  })
})
