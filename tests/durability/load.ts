import type { Client } from '../../lib/client/client.ts'
import type { Inference } from '../../lib/client/inference.ts'
import type { JobId } from '../../lib/codecs.ts'
import type { JobEvent } from '../../lib/schemas/jobs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import { fundedClient } from '../funded-client.ts'
import { model, type World } from './world.ts'

/** A job that the ICL acknowledged, and all that its client was told of it; times in milliseconds. */
export type Told = {
  readonly jobId: JobId
  readonly client: Client
  readonly readToken: string
  readonly prompt: string
  readonly submittedAt: number
  readonly events: Map<number, JobEvent>
  /** What the client got in the end. */
  inference: Inference | undefined
  /** Why it got nothing. */
  error: unknown
  endedAt: number | undefined
}

/** Clients that have one prompt after the other answered. */
export type Load = Awaited<ReturnType<typeof startLoad>>

const pauseMs = 500
// Jobs wait for nodes: without a limit a service that does less than it is asked would have ever more of them.
const mostAtOnce = 4

/** Starts clients, each with a wallet of its own. One that waits for longer than `patienceMs` begins another job beside: the load goes on although jobs hang. */
export async function startLoad(world: World, clients: number, patienceMs: number) {
  const told: Told[] = []
  const turnedAway = new Map<string, number>()
  const asked = new Set<Promise<void>>()
  let isOver = false
  const work = async (client: Client, name: number) => {
    const running = new Set<Promise<void>>()
    for (let count = 1; !isOver; count++) {
      const prompt = `What is ${name}.${count}?`
      const asking = ask(client, prompt, told).catch((error: unknown) => {
        const why = error instanceof SvcError ? error.code : String(error)
        turnedAway.set(why, (turnedAway.get(why) ?? 0) + 1)
      })
      running.add(asking)
      asked.add(asking)
      void asking.finally(() => {
        running.delete(asking)
        asked.delete(asking)
      })
      await Promise.race([asking, systemClock.sleep(patienceMs)])
      if (running.size >= mostAtOnce) await Promise.race(running)
      await systemClock.sleep(pauseMs)
    }
  }
  for (let index = 1; index <= clients; index++) {
    void work(await fundedClient(world.chain, world.iclUrl), index)
  }
  return {
    told: told as readonly Told[],
    /** Why clients were turned away before their job was acknowledged, and how often. */
    turnedAway: turnedAway as ReadonlyMap<string, number>,
    /** How many things were acknowledged to clients. */
    acknowledged: () => told.reduce((sum, { events }) => sum + 1 + events.size, 0),
    /** Begins no further jobs. */
    stop: () => {
      isOver = true
    },
    /** Whether every client has got what it will get, of jobs that are not acknowledged yet, too. */
    hasEnded: () => isOver && asked.size === 0,
  }
}

/** Has a prompt answered; throws what kept the job from being acknowledged. */
async function ask(client: Client, prompt: string, all: Told[]): Promise<void> {
  let told: Told | undefined
  try {
    const inference = await client.infer(prompt, {
      model,
      comparator: 'exact',
      onSubmitted: ({ jobId, readToken }) => {
        const submittedAt = systemClock.now()
        told = { jobId, client, readToken, prompt, submittedAt, events: new Map(), ...unanswered }
        all.push(told)
      },
      onEvent: (event) => {
        told?.events.set(event.seq, event)
      },
    })
    if (told) told.inference = inference
  } catch (error) {
    if (!told) throw error
    told.error = error
  } finally {
    if (told) told.endedAt = systemClock.now()
  }
}

const unanswered = { inference: undefined, error: undefined, endedAt: undefined }
