import OpenAI from 'openai'
import type { Processes } from '../../demo/processes.ts'
import { realModel, realProvider } from '../../demo/provider.ts'
import { installRealModel } from '../../demo/real-model/install.ts'
import { startStandIn } from '../../demo/standin-process.ts'
import { createStory } from '../../demo/story.ts'
import { startWorld } from '../../demo/world.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { wholeOutput } from '../../lib/host/whole-output.ts'
import { startGateway } from '../gateway-process.ts'
import { print } from '../run-program.ts'

const prompts = `
Name three uses of a lighthouse.
Why is the sky blue?
What is a receipt?
Write a haiku about rain.
How do I boil an egg?
Who wrote Faust?
What is 17 plus 25?
List the days of the week.
Explain what a database index is.
What do bees eat?
Translate "good morning" to French.
Give me a name for a ferry.
What is photosynthesis?
Write a short letter to a neighbour about a lost cat.
What is the capital of Peru?
Describe a train station in one sentence.
What is the opposite of cold?
How long is a year on Mars?
Write a function in Python that reverses a string.
What should I pack for a week at the sea?
`
  .trim()
  .split('\n')
const tokens = 64

/**
 * Sends 20 prompts of a real model through three nodes and a gateway, with OpenAI's client. On x64 the second node's server uses AVX2 alone,
 * as on an older processor. Prints a table, and returns the number of prompts without an answer.
 */
export async function askReal(
  processes: Processes,
  stops: (() => Promise<void>)[],
): Promise<number> {
  const reporter = createStory(wholeOutput(process.stderr))
  const files = await installRealModel(reporter)
  const older = process.arch === 'x64' ? { ...files, cpu: 'haswell' } : files
  const second = await startStandIn(processes, { realModel: older })
  const world = await startWorld({
    models: [realModel],
    standIn: true,
    realModel: files,
    providerEnv: (index, url) => realProvider.envOf(index, index === 1 ? second.url : url),
    reporter,
  })
  stops.push(world.stop)
  const baseURL = await startGateway(processes, world)
  const openai = new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 })
  const asked: { readonly agreement: string | undefined; readonly seconds: number }[] = []
  for (const content of prompts) {
    const began = performance.now()
    const agreement = await openai.chat.completions
      .create({ model: realModel, messages: [{ role: 'user', content }], max_tokens: tokens })
      .withResponse()
      .then(
        ({ response }) => /^\d+ of \d+/.exec(response.headers.get('x-svc-agreement') ?? '')?.[0],
        (error: unknown) => void reporter.say(`FAIL: ${content}: ${errorMessage(error)}`),
      )
    asked.push({ agreement, seconds: (performance.now() - began) / 1_000 })
    reporter.say(`${agreement}: ${content}`)
  }
  const count = (wanted: string) => asked.filter(({ agreement }) => agreement === wanted).length
  const failed = asked.filter(({ agreement }) => agreement === undefined).length
  const times = asked.map(({ seconds }) => seconds).toSorted((a, b) => a - b)
  const [median, most] = [times[times.length / 2], times.at(-1)].map((time) => time?.toFixed(1))
  const counts = [prompts.length, prompts.length - failed, count('3 of 3'), count('2 of 3')]
  const line = [...counts, median, most]
  print('| prompts | accepted | 3 of 3 | 2 of 3 | median s | most s |')
  print(`${'| --- '.repeat(line.length)}|\n| ${line.join(' | ')} |`)
  return failed
}
