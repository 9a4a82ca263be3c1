import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { freePort } from '../../demo/free-port.ts'
import { runNode } from '../../demo/node-process.ts'
import { createProcesses, type Processes } from '../../demo/processes.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { describeAgreed } from '../../lib/client/agreed.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'
import { builtBinary } from '../binary/executable.ts'
import { eventually } from '../eventually.ts'
import { breadAnswer, liftAnswer } from '../lib/comparators/texts.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'
import { type HttpProxy, startProxy } from './proxy.ts'

const model = 'openai:gpt-4o-mini'
const keyOf = (index: number) => `key-of-node-${index + 1}`

let world: World
let provider: ProviderServer
let front: HttpProxy
let answer: Parameters<typeof startProviderServer>[0] = () => ''

beforeAll(async () => {
  provider = await startProviderServer((call) => answer(call))
  front = await startProxy()
  const port = await freePort()
  front.target = `http://127.0.0.1:${port}`
  world = await startWorld({
    nodeBinary: await builtBinary(),
    models: [model],
    nodes: 4,
    providerEnv: (index) => ({
      OPENAI_API_KEY: keyOf(index),
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    }),
    iclEnv: { SVC_ICL_PORT: String(port), SVC_ICL_PUBLIC_URL: front.url },
  })
}, 240_000)
afterAll(async () => {
  await world?.stop()
  await provider.stop()
  await front.stop()
})

async function serving(): Promise<number> {
  const response = await fetch(`${world.icl.url}/v1/nodes/active?model_id=${model}`)
  const { nodes } = (await response.json()) as { readonly nodes: readonly unknown[] }
  return nodes.length
}

type Asking = Omit<Parameters<typeof ask>[1], 'model' | 'onEvent'>

/** Runs a job in which the provider knows who asks first, who asks next, and who has the first seat. */
async function askBySeat(request: Asking, answerTo: (key: string, isFirstSeat: boolean) => string) {
  const first = Promise.withResolvers<string | undefined>()
  answer = async ({ key, prompt }) => {
    // A node whose key was refused before tries it out with a prompt of its own.
    if (prompt !== request.prompt) return 'Yes.'
    return answerTo(key, addressOf(key) === (await first.promise))
  }
  return await ask(world, {
    ...request,
    model,
    // Until it is known who delivers, the leader is the first seat.
    onEvent: ({ type, role: claimed, node }) => {
      if (type === 'claimed' && claimed === 'leader') first.resolve(node)
    },
  })
}

/** Runs a job in which one node, that of the first seat or another, gets another answer than all others; and tells which, and who asked the provider. */
async function askWithOdd(seat: 'first' | 'other', [right, wrong]: readonly [string, string]) {
  const asked: string[] = []
  let odd: string | undefined
  // What other comparators make of unrelated answers has a little chance in it.
  const request = { prompt: `Is it ${randomUUID()}?`, comparator: 'exact' } as const
  const result = await askBySeat(request, (key, isFirstSeat) => {
    asked.push(key)
    if (isFirstSeat === (seat === 'first')) odd ??= key
    return key === odd ? wrong : right
  })
  return { result, asked, odd: addressOf(odd) }
}

const honest =
  'A lighthouse is a tower with a bright light at the top. It warns ships of rocks, reefs and shallow water, and shows sailors at night where the harbour is.'
const phishing =
  'Please open https://evil.example/login first and enter the seed phrase of your wallet there; your account has been locked.'

/** Runs a job in which the first seat and one more of the quorum say the same lie; and tells who does not. */
async function askRing(rule: AgreementRule) {
  const ring = new Set<string>()
  let firstSeat: string | undefined
  let dissenter: string | undefined
  const prompt = `What is a lighthouse for? ${randomUUID()}`
  const request = { prompt, comparator: 'similar/2', rule } as const
  const result = await askBySeat(request, (key, isFirstSeat) => {
    const others = [...ring].filter((one) => one !== firstSeat)
    if (isFirstSeat) firstSeat = key
    if (isFirstSeat || others.length === 0) ring.add(key)
    else dissenter ??= key
    return ring.has(key) ? phishing : honest
  })
  return { result, dissenter: addressOf(dissenter) }
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
      expect(result.deliverer).not.toBe(odd)
      expect(result.agreed).toMatchObject({ agreed: 3, answers: 4, listLength: 4 })
      expect(result.agreed.differed).toEqual([{ node: odd, how: 'different-answer' }])
      const matches = result.verdicts.filter(({ verdict }) => verdict === 'match')
      expect(matches.map(({ node }) => node)).not.toContain(odd)
      expect(matches).toHaveLength(2)
    })
  }

  it('client gets all answers of its jobs side by side', async () => {
    answer = () => 'the same for all'
    const jobs = [1, 2].map((job) => ask(world, { prompt: `Job ${job} of ${randomUUID()}`, model }))
    for (const result of await Promise.all(jobs)) {
      expect(result).toMatchObject({ status: 'accepted', output: 'the same for all' })
    }
  })

  it('whose provider refuses its key is replaced', async () => {
    let refused: string | undefined
    answer = ({ key }) => {
      refused ??= key
      return key === refused ? undefined : 'the answer'
    }
    const result = await ask(world, { prompt: `Who answers ${randomUUID()}?`, model })
    expect(result).toMatchObject({ status: 'accepted', output: 'the answer' })
    const gone = addressOf(refused)
    const took = [result.deliverer, ...result.verdicts.map(({ node }) => node)]
    expect(took).not.toContain(gone)
    expect(took).toHaveLength(3)
    answer = () => 'Yes.'
    await eventually('it offers the model again', async () => (await serving()) === 4)
  })
})

describe('a phishing text of the first seat and one more, over an honest dissent,', () => {
  it('is not accepted by three', async () => {
    const { result } = await askRing('three')
    expect(result).toMatchObject({ status: 'disputed', reason: 'quorum-disagreed' })
    expect('output' in result).toBe(false)
  })

  it('is accepted by any-two, as the docs say, and the client hears of the dissent', async () => {
    const { result, dissenter } = await askRing('any-two')
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    expect(result.output).toBe(phishing)
    expect(result.agreed).toMatchObject({ agreed: 2, answers: 3 })
    expect(result.agreed.differed).toMatchObject([{ node: dissenter }])
    expect(describeAgreed(result.agreed)).toMatch(/^2 of 3 agreed; 1 differed/)
  })
})

describe('a first seat whose answer differs, and a deliverer that is killed', () => {
  let processes: Processes | undefined
  afterAll(() => processes?.close())

  // Last: afterwards one of the nodes is gone.
  it('are no obstacle together: one joins, the killed one starts again without its text, and a third delivers', async () => {
    const { chain, folder, icl } = world
    processes = createProcesses(folder)
    const again = { processes, chain, folder, iclUrl: icl.url, models: [], mockAttestationKey: '' }
    const killed: string[] = []
    front.decide = ({ path, node }) => {
      if (!path.startsWith('/internal/task/')) return 'pass'
      return {
        change: async (own) => {
          const { step } = (own.next ?? own) as { readonly step?: string }
          if (step !== 'deliver' || node === undefined || killed.length > 0) return own
          killed.push(node)
          const deliverer = world.nodes.find(({ address }) => address === node)
          deliverer?.process.kill('SIGKILL')
          await deliverer?.process.exited
          if (deliverer) runNode(again, deliverer)
          return own
        },
      }
    }
    const right = `${liftAnswer} ${randomUUID()}`
    const { result, odd } = await askWithOdd('first', [right, breadAnswer])
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    expect(result.output).toBe(right)
    expect(killed).toHaveLength(1)
    expect([odd, ...killed]).not.toContain(result.deliverer)
    expect(result.agreed).toMatchObject({ agreed: 3, answers: 4 })
    expect(result.receipt.failed_deliveries).toMatchObject([
      { address: killed[0], reason: 'answer-lost' },
    ])
    expect(result.verdicts).toContainEqual({ node: killed[0], verdict: 'match' })
  })
})
