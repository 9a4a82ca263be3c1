import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { breadAnswer, liftAnswer } from '../lib/comparators/texts.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'

const model = 'openai:gpt-4o-mini'
const keyOf = (index: number) => `key-of-node-${index + 1}`

let world: World
let provider: ProviderServer
let answer: Parameters<typeof startProviderServer>[0] = () => ''

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
}, 240_000)
afterAll(async () => {
  await world?.stop()
  await provider.stop()
})

/** Runs a job in which one node, that of the first seat or another, gets another answer than all others; and tells which, and who asked the provider. */
async function askWithOdd(seat: 'first' | 'other', [right, wrong]: readonly [string, string]) {
  const first = Promise.withResolvers<string | undefined>()
  const asked: string[] = []
  let odd: string | undefined
  answer = async ({ key }) => {
    asked.push(key)
    const isFirst = addressOf(key) === (await first.promise)
    if (isFirst === (seat === 'first')) odd ??= key
    return key === odd ? wrong : right
  }
  const result = await ask(world, {
    prompt: `Is it ${randomUUID()}?`,
    model,
    // What other comparators make of unrelated answers has a little chance in it.
    comparator: 'exact',
    // Until it is known who delivers, the leader is the first seat.
    onEvent: ({ type, role: claimed, node }) => {
      if (type === 'claimed' && claimed === 'leader') first.resolve(node)
    },
  })
  return { result, asked, odd: addressOf(odd) }
}

const addressOf = (key: string | undefined) =>
  world.nodes[Number(key?.replace('key-of-node-', '')) - 1]?.address

describe('with a node to spare, one', () => {
  for (const seat of ['first', 'other'] as const) {
    it(`of the ${seat} seat whose answer differs is no obstacle: one more joins, and one that agrees delivers`, async () => {
      const right = `${liftAnswer} ${randomUUID()}`
      const { result, asked, odd } = await askWithOdd(seat, [right, breadAnswer])
      if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
      expect(result.output).toBe(right)
      expect(asked).toHaveLength(4)
      expect(result.leader).not.toBe(odd)
      expect(result.agreed).toMatchObject({ agreed: 3, answers: 4, listLength: 4 })
      expect(result.agreed.differed).toEqual([{ node: odd, how: 'different-answer' }])
      const matches = result.verdicts.filter(({ verdict }) => verdict === 'match')
      expect(matches.map(({ node }) => node)).not.toContain(odd)
      expect(matches).toHaveLength(2)
    }, 240_000)
  }

  it('client gets all answers of its jobs side by side', async () => {
    answer = () => 'the same for all'
    const jobs = [1, 2].map((job) => ask(world, { prompt: `Job ${job} of ${randomUUID()}`, model }))
    for (const result of await Promise.all(jobs)) {
      expect(result).toMatchObject({ status: 'accepted', output: 'the same for all' })
    }
  }, 240_000)

  it('whose provider refuses its key is replaced', async () => {
    let refused: string | undefined
    answer = ({ key }) => {
      refused ??= key
      return key === refused ? undefined : 'the answer'
    }
    const result = await ask(world, { prompt: `Who answers ${randomUUID()}?`, model })
    expect(result).toMatchObject({ status: 'accepted', output: 'the answer' })
    const gone = addressOf(refused)
    const took = [result.leader, ...result.verdicts.map(({ node }) => node)]
    expect(took).not.toContain(gone)
    expect(took).toHaveLength(3)
  }, 240_000)
})
