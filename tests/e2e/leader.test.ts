import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import type { AcceptedInference } from '../../lib/client/inference.ts'
import { ConsoleJobDetail } from '../../lib/schemas/console.ts'
import { historyPathOf, readHistory } from '../../node/journal/history.ts'
import { builtBinary } from '../binary/executable.ts'
import { eventually } from '../eventually.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'

const model = 'openai:gpt-4o-mini'
const jobs = 20
const atOnce = 2
const keyOf = (index: number) => `key-of-node-${index + 1}`

let world: World
let provider: ProviderServer
/** By prompt: the node whose role is leader, once it has claimed. */
const leaders = new Map<string, ReturnType<typeof Promise.withResolvers<string>>>()
let differs: (key: string, leader: string) => boolean = () => false

beforeAll(async () => {
  provider = await startProviderServer(async ({ key, prompt }) => {
    const leader = await leaders.get(prompt)?.promise
    return leader !== undefined && differs(key, leader) ? 'no' : 'yes'
  })
  world = await startWorld({
    nodeBinary: await builtBinary(),
    models: [model],
    nodes: 3,
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

type Done = { readonly leader: string; readonly result: AcceptedInference }

async function askOnce(): Promise<Done> {
  const prompt = `Is it ${randomUUID()}?`
  const leader = Promise.withResolvers<string>()
  leaders.set(prompt, leader)
  const result = await ask(world, {
    ...{ prompt, model, comparator: 'exact' },
    onEvent: ({ type, role, node }) => {
      if (type === 'claimed' && role === 'leader' && node) leader.resolve(node)
    },
  })
  if (result.status !== 'accepted') throw new Error(`It was ${result.status}: ${result.reason}`)
  return { leader: await leader.promise, result }
}

async function askAll(): Promise<readonly Done[]> {
  const done: Done[] = []
  while (done.length < jobs) {
    done.push(...(await Promise.all(Array.from({ length: atOnce }, askOnce))))
  }
  return done
}

/** The node that delivered a job, by the log and the history of each node, the console and the receipt. */
async function toldOf({ jobId, receipt }: AcceptedInference) {
  const nodes = await Promise.all(
    world.nodes.map(async ({ address, folder, process }) => {
      const history = await readHistory(historyPathOf(join(folder, 'config.json')))
      const own = history.find((job) => job.jobId === jobId && job.outcome !== 'running')
      const lines = (await readFile(process.logFile, 'utf8')).split('\n')
      const log = lines.filter((line) => line.includes(jobId)).join('\n')
      return { address, own, log }
    }),
  )
  if (nodes.some(({ own }) => !own)) return undefined
  const response = await fetch(`${world.icl.url}/v1/console/jobs/${jobId}`)
  const { deliveries } = ConsoleJobDetail.parse(await response.json())
  const addressesWhere = (holds: (node: (typeof nodes)[number]) => boolean) =>
    nodes.filter(holds).map(({ address }) => address)
  return {
    posted: addressesWhere(({ log }) => log.includes('Leader result accepted')),
    inPlace: addressesWhere(({ log }) => log.includes('delivering in place of the leader')),
    resultPosted: addressesWhere(({ own }) => own?.outcome === 'result-posted'),
    leaders: addressesWhere(({ own }) => own?.role === 'leader'),
    // A node that differs may not have been told who delivers when the job settles.
    histories: [...new Set(nodes.flatMap(({ own }) => own?.deliverer ?? []))],
    console: deliveries.map(({ node, outcome }) => [node, outcome]),
    receipt: receipt.tally.body.deliverer,
  }
}

const told = (result: AcceptedInference) => eventually('its history', () => toldOf(result))

it(`the node whose role is leader delivers, in ${jobs} of ${jobs} jobs that agree`, async () => {
  for (const { leader, result } of await askAll()) {
    expect(await told(result)).toEqual({
      ...{ posted: [leader], inPlace: [], resultPosted: [leader], leaders: [leader] },
      ...{ histories: [leader], console: [[leader, 'settled']], receipt: leader },
    })
  }
}, 240_000)

it(`logs, histories, console and receipt agree on the deliverer in ${jobs} jobs whose leader dissents`, async () => {
  const keys = new Map(world.nodes.map(({ address }, index) => [`${address}`, keyOf(index)]))
  differs = (key, leader) => keys.get(leader) === key
  for (const { leader, result } of await askAll()) {
    const { deliverer, receipt } = result
    const [, second] = receipt.list.members
    expect([receipt.list.members[0], deliverer]).toEqual([leader, second])
    const all = { posted: [second], inPlace: [second], resultPosted: [second], leaders: [leader] }
    expect(await told(result)).toEqual({
      ...all,
      ...{ histories: [second], console: [[second, 'settled']], receipt: second },
    })
  }
}, 240_000)
