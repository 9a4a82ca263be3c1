// Runs the whole service on this machine at fixed ports, for development: npm run dev
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { wholeOutput } from '../lib/host/whole-output.ts'
import { SvcError } from '../lib/svc-error.ts'
import { checkDisk, checkPorts } from './check-machine.ts'
import { checkProvider } from './check-provider.ts'
import { tellGuide } from './dev-guide.ts'
import { type DevOptions, devPorts, devUsage, parseDevOptions } from './dev-options.ts'
import { chooseProvider } from './provider.ts'
import { tellError } from './result.ts'
import { readScript } from './standin-script.ts'
import { demoStopSignal } from './stop-signals.ts'
import { createStory } from './story.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'
import { startWorld } from './world.ts'

const signal = demoStopSignal()
const stdout = wholeOutput(process.stdout)
const story = createStory(stdout)
const exitCode = await main()
await stdout.written().catch(() => {})
process.exit(exitCode)

async function main(): Promise<number> {
  try {
    const options = parseDevOptions(process.argv.slice(2))
    if (options === undefined) {
      void stdout.write(devUsage)
      return 0
    }
    await serve(options)
    return 0
  } catch (error) {
    return tellError(story, error)
  }
}

async function serve(options: DevOptions): Promise<void> {
  const { model, script } = options
  if (script !== undefined) await readScript(script)
  const provider = chooseProvider(model, process.env)
  if (script !== undefined && !provider.standIn) {
    throw new SvcError('usage', '--script is for the stand-in, and a provider is set', {
      hint: 'Unset its key and address in the environment, or leave --script out.',
    })
  }
  const { chain, icl, standIn, webhooks } = devPorts(options)
  await checkPorts([chain, icl, ...(provider.standIn ? [standIn] : []), webhooks])
  await checkDisk(tmpdir())
  if (provider.probe) await checkProvider(provider.probe, signal)
  story.say(`The service with ${model}, all on this machine`)
  story.say(provider.description)
  const world = await startWorld({
    models: [model],
    playground: true,
    providerEnv: provider.envOf,
    standIn: provider.standIn,
    standInScript: script,
    ports: { chain: chain.port, standIn: standIn.port },
    iclEnv: {
      SVC_ICL_PORT: String(icl.port),
      SVC_ICL_WEBHOOKS: 'on',
      SVC_ICL_WEBHOOKS_ALLOW_PRIVATE: 'true',
    },
    reporter: story,
    signal,
  })
  try {
    world.watch((told) => {
      if (!signal.aborted) story.say(told)
    })
    const receiver = startWebhookReceiver(webhooks.port, story.say)
    await tellGuide(story, world, { model, provider, webhookUrl: receiver.url })
    if (!signal.aborted) await once(signal, 'abort')
    await receiver.stop()
  } finally {
    await world.stop()
  }
  throw signal.reason
}
