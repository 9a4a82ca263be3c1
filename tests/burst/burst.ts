/*
 * Problem: many prompts at once must all be answered, in their order, and clients that flood must not keep the others waiting.
 *
 * Idea: the whole service of the demo, with some nodes, and clients of the library that send all their prompts at once. One
 * more client sends a single prompt after the other, and is measured.
 */

import { startWorld, type World } from '../../demo/world.ts'
import type { Client } from '../../lib/client/client.ts'
import type { QueuePlace } from '../../lib/client/turns.ts'
import { builtBinary } from '../binary/executable.ts'
import { fundedClient } from '../funded-client.ts'

const model = 'openai:gpt-4o-mini'

/** How much is sent: `prompts` by each of `clients` at once, and one after the other by one more client meanwhile, if it is wanted. */
export type BurstOptions = {
  readonly nodes: number
  readonly prompts: number
  readonly clients: number
  readonly bystander: boolean
  readonly iclEnv?: Readonly<Record<string, string>>
  readonly tell: (line: string) => void
}

/** What came of it. */
export type BurstResult = {
  readonly sent: number
  readonly accepted: number
  /** Why the others were lost, by code. */
  readonly lost: Readonly<Record<string, number>>
  /** Prompts that began after one of the same client that was sent later, and may not run beside it. */
  readonly overtaken: number
  /** The places in the queue of the ICL that were told. */
  readonly places: readonly QueuePlace[]
  /** Seconds from a prompt to the ICL having its job, for the client that sends one after the other, the shortest first. */
  readonly bystanderSeconds: readonly number[]
  readonly seconds: number
}

/** Starts the service, sends everything, and ends once each prompt has been answered or lost. */
export async function runBurst(options: BurstOptions): Promise<BurstResult> {
  const world = await startWorld({
    models: [model],
    nodes: options.nodes,
    nodeBinary: await builtBinary(),
    standIn: true,
    providerEnv: (index, url) => ({
      OPENAI_API_KEY: `key-of-node-${index}`,
      ...(url && { SVC_OPENAI_BASE_URL: url }),
    }),
    ...(options.iclEnv && { iclEnv: options.iclEnv }),
  })
  try {
    return await sendAll(world, options)
  } finally {
    await world.stop()
  }
}

async function sendAll(world: World, options: BurstOptions): Promise<BurstResult> {
  const { prompts, clients, bystander, tell } = options
  const began = performance.now()
  const lost: Record<string, number> = {}
  const places: QueuePlace[] = []
  let accepted = 0
  let overtaken = 0
  const flood = async (client: Client) => {
    let last = -1
    const send = async (index: number) => {
      try {
        const { status } = await client.infer(`Prompt ${index}`, {
          model,
          onQueue: (place) => place.at === 'icl' && places.push(place),
          onStep: ({ step, phase }) => {
            if (step !== 'preview' || phase !== 'start') return
            if (last - index >= client.network.limits.jobs_at_once) overtaken++
            last = Math.max(last, index)
          },
        })
        if (status === 'accepted') accepted++
        else lost[status] = (lost[status] ?? 0) + 1
      } catch (error) {
        const code = (error as { code?: string }).code ?? String(error)
        lost[code] = (lost[code] ?? 0) + 1
      }
      const settled = accepted + Object.values(lost).reduce((sum, count) => sum + count, 0)
      if (settled % 25 === 0) tell(`${settled} of ${prompts * clients}`)
    }
    await Promise.all(Array.from({ length: prompts }, (_, index) => send(index)))
  }
  const newClient = () => fundedClient(world.chain, world.icl.url)
  const flooders: Client[] = []
  for (let index = 0; index < clients; index++) flooders.push(await newClient())
  const alone = bystander ? await newClient() : undefined
  const flooding = Promise.all(flooders.map(flood))
  const bystanderSeconds = alone ? await sendOneByOne(alone, flooding) : []
  await flooding
  return {
    ...{ sent: prompts * clients, accepted, lost, overtaken, places, bystanderSeconds },
    seconds: (performance.now() - began) / 1000,
  }
}

/** Sends one prompt after the other until the flood is over. */
async function sendOneByOne(client: Client, flooding: Promise<unknown>): Promise<number[]> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  flooding.then(end, end)
  const seconds: number[] = []
  while (!isOver) {
    const began = performance.now()
    await client.infer('One more', {
      model,
      onSubmitted: () => seconds.push((performance.now() - began) / 1000),
    })
  }
  return seconds.toSorted((a, b) => a - b)
}
