import { startWorld } from '../../demo/world.ts'
import { builtBinary } from '../binary/executable.ts'
import { type ProviderServer, startProviderServer } from '../e2e/provider-server.ts'

/** A world with a playground, and a provider whose answers a test may hold back. */
export type PlaygroundWorld = Awaited<ReturnType<typeof startPlaygroundWorld>>

const model = 'openai:gpt-4o-mini'

/** What its provider answers: text that would be an element if a page took it for one. */
export const playgroundAnswer =
  'A turning lens gathers the light into beams, so that ships see flashes from afar. <b>Each lighthouse</b> has its own rhythm, which tells a navigator where the coast is.'

/** Starts such a world. */
export async function startPlaygroundWorld(fhe: 'mock' | 'real') {
  const holdWord = 'hold this answer'
  const held = Promise.withResolvers<void>()
  const provider: ProviderServer = await startProviderServer(async ({ prompt }) => {
    if (prompt.includes(holdWord)) await held.promise
    return playgroundAnswer
  })
  try {
    const world = await startWorld({
      models: [model],
      fhe,
      nodeBinary: await builtBinary(),
      playground: true,
      providerEnv: (index) => ({
        OPENAI_API_KEY: `key-of-node-${index + 1}`,
        SVC_OPENAI_BASE_URL: provider.openaiUrl,
      }),
    })
    const { icl, chain } = world
    const called = [icl.url, chain.rpcUrl, ...Object.values(chain.coprocessor ?? {})]
    return {
      url: `${icl.url}/playground`,
      /** Where its page may call. */
      origins: [...new Set(called.map((url) => new URL(url).origin))],
      world,
      /** Holds the answers to prompts that contain this text. */
      holdWord,
      /** Lets held answers go. */
      release: () => held.resolve(),
      stop: async () => {
        held.resolve()
        await world.stop()
        await provider.stop()
      },
    }
  } catch (error) {
    await provider.stop()
    throw error
  }
}
