import { connectClient } from '../../client/connect/connect-client.ts'
import { parseClientSettings } from '../../client/connect/settings.ts'
import { clientEnvironment } from '../../demo/client-environment.ts'
import { startWorld, type WorldOptions } from '../../demo/world.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { builtBinary } from '../binary/executable.ts'
import { startProviderServer } from '../e2e/provider-server.ts'

/** What makes the provider of a client's world hold an answer back. */
export const heldBack = '(held back)'

/** The whole service on this machine, as a client meets it. */
export type ClientWorld = Awaited<ReturnType<typeof startClientWorld>>

const pollMs = 50
const askedMs = 150_000

/** Starts nodes that answer `Answer to: PROMPT`, or write as many letters as a prompt asks for; a prompt that is held back, or a count to a thousand, has to be released. */
export async function startClientWorld(options: Pick<WorldOptions, 'fhe' | 'iclEnv'> = {}) {
  const prompts: string[] = []
  const held: (() => void)[] = []
  const isHeldBack = (prompt: string) => prompt.includes(heldBack) || prompt.startsWith('Count to')
  const release = () => {
    for (const go of held.splice(0)) go()
  }
  const provider = await startProviderServer(async ({ prompt }) => {
    prompts.push(prompt)
    if (isHeldBack(prompt)) await new Promise<void>((go) => held.push(go))
    return answerTo(prompt)
  })
  try {
    const world = await startWorld({
      ...options,
      models: ['openai:gpt-4o-mini'],
      nodeBinary: await builtBinary(),
      providerEnv: (index) => ({
        OPENAI_API_KEY: `key-of-node-${index}`,
        SVC_OPENAI_BASE_URL: provider.openaiUrl,
      }),
    })
    const environment = await clientEnvironment(world)
    const client = await connectClient(parseClientSettings(environment), {
      clock: systemClock,
      random: systemRandom,
    })
    return {
      world,
      /** The client's settings. */
      environment,
      client,
      /** Resolves once a node has asked the provider a prompt with this text in it; rejects with the nodes' last words when none does. */
      asked: async (text: string): Promise<void> => {
        const end = systemClock.now() + askedMs
        while (!prompts.some((prompt) => prompt.includes(text))) {
          if (systemClock.now() > end) throw new Error(await world.lastLogs())
          await systemClock.sleep(pollMs)
        }
      },
      /** Answers what was held back, so that the nodes have room for other jobs. */
      release,
      stop: async () => {
        // A node finishes its calls before it ends.
        release()
        await world.stop()
        await provider.stop()
      },
    }
  } catch (error) {
    await provider.stop()
    throw error
  }
}

function answerTo(prompt: string): string {
  const [, letters] = /^Write (\d+) letters/.exec(prompt) ?? []
  return letters === undefined ? `Answer to: ${prompt}` : 'a'.repeat(Number(letters))
}
