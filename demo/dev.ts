// Runs the whole service on this machine at fixed ports, for development: npm run dev
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { z } from 'zod'
import { option, WholeNumber } from '../lib/host/program/option.ts'
import { runOnly } from '../lib/host/program/run-program.ts'
import { wholeOutput } from '../lib/host/whole-output.ts'
import { SvcError } from '../lib/svc-error.ts'
import { checkDisk, checkPorts, type FixedPort } from './check-machine.ts'
import { checkProvider } from './check-provider.ts'
import { tellGuide } from './guide.ts'
import { chooseProvider } from './provider.ts'
import { tellInterrupted } from './result.ts'
import { readScript } from './standin-script.ts'
import { demoStopSignal } from './stop-signals.ts'
import { createStory } from './story.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'
import { startWorld } from './world.ts'

const signal = demoStopSignal()
const stdout = wholeOutput(process.stdout)
const story = createStory(stdout)

// The two ports after it are used, too.
const Port = WholeNumber(1, 65_533)
const options = z.object({
  model: option(
    z.string().default('openai:gpt-4o-mini'),
    'MODEL',
    'Such as anthropic:claude-sonnet-5-5',
  ),
  port: option(
    Port.default(8080),
    'N',
    "The ICL's port. The next two are for the stand-in and the webhook receiver",
  ),
  chainPort: option(Port.default(8545), 'N', "The port of the chain's JSON-RPC"),
  script: option(
    z.string().optional(),
    'FILE',
    'What the stand-in responds with, tool calls too. demo/agent-script.json is one',
  ),
})

/** The ports on which the service listens. */
const portsOf = ({ port, chainPort }: z.output<typeof options>) =>
  ({
    chain: { port: chainPort, use: 'chain', option: '--chain-port' },
    icl: { port, use: 'ICL', option: '--port' },
    standIn: { port: port + 1, use: 'stand-in', option: '--port' },
    webhooks: { port: port + 2, use: 'webhook receiver', option: '--port' },
  }) as const satisfies Readonly<Record<string, FixedPort>>

async function serve(given: z.output<typeof options>): Promise<never> {
  const { model, script } = given
  if (script !== undefined) await readScript(script)
  const provider = chooseProvider(model, process.env)
  if (script !== undefined && !provider.standIn) {
    throw new SvcError('usage', '--script is for the stand-in, and a provider is set', {
      hint: 'Unset its key and address in the environment, or leave --script out.',
    })
  }
  const { chain, icl, standIn, webhooks } = portsOf(given)
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
    await tellGuide(story, world, { provider, webhookUrl: receiver.url })
    if (!signal.aborted) await once(signal, 'abort')
    await receiver.stop()
  } finally {
    await world.stop()
  }
  throw signal.reason
}

await runOnly('npm run dev --', {
  summary: `Run the whole service on this machine until Ctrl-C: a chain, the coordinator (ICL) with console,
playground and webhooks, and three nodes. Print addresses, funded keys and commands to copy. It
keeps nothing after it has ended.`,
  options,
  notes:
    'With OPENAI_API_KEY or ANTHROPIC_API_KEY it uses the real provider. Without them a local stand-in responds.',
  run: (given) =>
    serve(given)
      .catch((error) => tellInterrupted(story, error))
      .finally(() => stdout.written().catch(() => {})),
})
