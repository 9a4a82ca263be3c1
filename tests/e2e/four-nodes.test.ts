import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { anAddress } from '../branded.ts'
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

/** Runs a job in which one node, the leader or a verifier, gets another answer than all others; and tells which, and who asked the provider. */
async function askWithOdd(role: 'leader' | 'verifier', [right, wrong]: readonly [string, string]) {
  const leads = Promise.withResolvers<string | undefined>()
  const asked: string[] = []
  let odd: string | undefined
  answer = async ({ key }) => {
    asked.push(key)
    const isLeader = addressOf(key) === (await leads.promise)
    if (isLeader === (role === 'leader')) odd ??= key
    return key === odd ? wrong : right
  }
  const result = await ask(world, {
    prompt: `Is it ${randomUUID()}?`,
    model,
    // What other comparators make of unrelated answers has a little chance in it.
    comparator: 'exact',
    onEvent: ({ type, role: claimed, node }) => {
      if (type === 'claimed' && claimed === 'leader') leads.resolve(node)
    },
  })
  return { result, asked, odd: addressOf(odd) }
}

const addressOf = (key: string | undefined) =>
  world.nodes[Number(key?.replace('key-of-node-', '')) - 1]?.address

describe('with a node to spare', () => {
  it('a verifier that differs is outvoted by one more of the list', async () => {
    const right = `${liftAnswer} ${randomUUID()}`
    const { result, asked, odd } = await askWithOdd('verifier', [right, breadAnswer])
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    expect(result.output).toBe(right)
    expect(asked).toHaveLength(4)
    const verdictOf = new Map(result.verdicts.map(({ node, verdict }) => [node, verdict]))
    expect(verdictOf.size).toBe(3)
    expect(verdictOf.get(anAddress(odd ?? '0x'))).toBe('no-match')
    expect([...verdictOf.values()].filter((verdict) => verdict === 'match')).toHaveLength(2)
  }, 240_000)

  it('jobs of one client side by side all get their answers', async () => {
    answer = () => 'the same for all'
    const jobs = [1, 2].map((job) => ask(world, { prompt: `Job ${job} of ${randomUUID()}`, model }))
    for (const result of await Promise.all(jobs)) {
      expect(result).toMatchObject({ status: 'accepted', output: 'the same for all' })
    }
  }, 240_000)

  it('a node whose provider refuses its key is replaced', async () => {
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

  it('a leader that differs is outvoted, and there is no second quorum in a pool of four', async () => {
    const right = `${liftAnswer} ${randomUUID()}`
    const { result, odd } = await askWithOdd('leader', [right, breadAnswer])
    expect(result).toMatchObject({ status: 'rejected', reason: 'not-enough-nodes', leader: odd })
  }, 240_000)
})
