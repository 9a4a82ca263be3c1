import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { abortable } from '../lib/chain/abortable.ts'
import type { Inference } from '../lib/client/inference.ts'
import { checkPrompt, maxPromptBytes } from '../lib/client/prompt-text.ts'
import { type StepNews, stepLabels } from '../lib/client/steps.ts'
import { option } from '../lib/host/program/option.ts'
import { runOnly } from '../lib/host/program/run-program.ts'
import { wholeOutput } from '../lib/host/whole-output.ts'
import { SvcError } from '../lib/svc-error.ts'
import { currentBinary } from '../scripts/build-node/current-binary.ts'
import { ask } from './ask.ts'
import { findBlobsInKubo } from './blobs-in-kubo.ts'
import { checkDisk } from './check-machine.ts'
import { checkProvider } from './check-provider.ts'
import { tellGuide } from './guide.ts'
import { kuboPath } from './kubo-process.ts'
import { type DemoOptions, demoNotes, demoOptions } from './options.ts'
import { chooseProvider, ngramModel, type Provider, realModel, realProvider } from './provider.ts'
import { installRealModel } from './real-model/install.ts'
import { jsonFailure, jsonResult, tellBlobs, tellInterrupted, tellResult } from './result.ts'
import { demoStopSignal } from './stop-signals.ts'
import { createStory, type Story } from './story.ts'
import { startWorld, type World } from './world.ts'

const coprocessorNote =
  'Ciphertexts and proofs are real. The local coprocessor that decrypts them is for development and protects nothing.'

const realTokens = 128

const signal = demoStopSignal()
const output = wholeOutput(process.argv.includes('--json') ? process.stderr : process.stdout)
const story = createStory(output)
let model = ''

async function runDemo(
  { prompt: words, ...options }: DemoOptions & { readonly prompt: readonly string[] },
  print: (line: string) => void,
): Promise<number> {
  const { answers, nodes, json, keep, playground } = options
  const isReal = answers === 'real'
  model = options.model ?? (isReal ? realModel : options.check ? ngramModel : 'openai:gpt-4o-mini')
  // With the playground the user types prompts there.
  const prompt = words.length > 0 ? words.join(' ') : playground ? undefined : await readPrompt()
  if (prompt !== undefined) checkPrompt(prompt, maxPromptBytes)
  const provider = isReal ? realProvider : chooseProvider(model, process.env)
  const began = performance.now()
  story.say(`Confidential inference with ${model}, all on this machine`)
  story.say(provider.description)
  if (options.fhe === 'real') story.say(coprocessorNote)
  story.say()
  await checkDisk(tmpdir())
  if (options.blobs === 'kubo') await kuboPath()
  if (provider.probe) await checkProvider(provider.probe, signal)
  const small =
    answers === 'real'
      ? { realModel: await installRealModel(story, signal) }
      : model === ngramModel && { ngrams: answers }
  const nodeBinary = options.binary ? await binaryForNodes() : undefined
  const world = await startWorld({
    models: [model],
    nodes,
    iclRuntime: options.icl,
    blobs: options.blobs,
    fhe: options.fhe,
    playground,
    ...(nodeBinary !== undefined && { nodeBinary }),
    providerEnv: provider.envOf,
    standIn: provider.standIn,
    ...small,
    reporter: story,
    signal,
  })
  try {
    const startedMs = Math.round(performance.now() - began)
    if (prompt === undefined) {
      await stayUp(world, provider)
      return 0
    }
    const inference = await ask(world, {
      ...{ prompt, model, ...(options.check && { check: options.check }) },
      // Small models often repeat themselves to the end.
      ...(isReal && { parameters: { max_output_tokens: realTokens } }),
      onStep: tellStep(story),
      signal,
    })
    tellResult(story, inference)
    if (provider.standIn && inference.status === 'accepted')
      story.say(`  note        ${provider.description}`)
    const blobs = world.kubo && (await findBlobsInKubo(world, world.kubo, inference))
    if (blobs) tellBlobs(story, blobs)
    const code = inference.status === 'accepted' ? 0 : 1
    if (json) {
      const line = { ...jsonResult(inference), ...(blobs && { kubo: blobs }) }
      print(JSON.stringify({ ...line, timings_ms: { ...line.timings_ms, world: startedMs } }))
    }
    if (keep || playground) await stayUp(world, provider, inference)
    return code
  } catch (error) {
    story.end('failed')
    if (!(error instanceof SvcError) && !signal.aborted) story.say(await world.lastLogs())
    throw error
  } finally {
    await world.stop()
  }
}

/** Returns the path of dist/svc-node. Builds it first if it was built from other sources. */
async function binaryForNodes(): Promise<string> {
  const path = await currentBinary(join(import.meta.dirname, '..'), (build) =>
    story.step('Building dist/svc-node from the sources', build),
  )
  signal.throwIfAborted()
  story.say(`  The nodes run ${relative(process.cwd(), path)}.`)
  return path
}

async function readPrompt(): Promise<string> {
  if (process.stdin.isTTY) return ''
  const piped = await abortable(text(process.stdin), signal)
  return piped.replace(/\r?\n$/, '')
}

function tellStep({ begin, progress, end }: Story) {
  return ({ step, phase, detail }: StepNews): void => {
    if (phase === 'start') begin(stepLabels[step])
    else if (phase === 'end') end()
    else if (phase === 'failed') end('failed')
    else progress(detail ?? '')
  }
}

async function stayUp(world: World, provider: Provider, inference?: Inference): Promise<void> {
  const { chain, icl } = world
  if (inference) {
    const { jobId, readToken } = inference
    story.say()
    story.say('Its receipt, checked on chain, and its list of nodes, drawn again:')
    story.say(
      `  curl -s -H 'Authorization: Bearer ${readToken}' ${icl.url}/v1/inference/${jobId}/receipt > receipt.json`,
    )
    story.say(
      `  npm run svc-node -- receipt verify receipt.json --rpc ${chain.rpcUrl} --gateway ${icl.url}`,
    )
  }
  await tellGuide(story, world, { provider })
  if (!signal.aborted) await once(signal, 'abort')
}

await runOnly(
  'npm run demo --',
  {
    summary: `Run the whole service on this machine: a chain, the coordinator, three nodes in processes of their
own, and one encrypted prompt through them. Without a prompt it reads standard input.`,
    args: z.object({ prompt: option(z.array(z.string()).default([]), 'PROMPT') }),
    options: demoOptions,
    notes: demoNotes,
    run: (given, { print }) =>
      runDemo(given, print)
        .catch((error) => tellInterrupted(story, error))
        .finally(() => output.written().catch(() => {})),
  },
  { jsonFailure: (error) => jsonFailure(model, error) },
)
