import { stat } from 'node:fs/promises'
import type { Client } from '../../lib/client/client.ts'
import { describeLeftOut, type PoolComparison } from '../../lib/client/compare-pool.ts'
import { inferenceError, UncommittedError } from '../../lib/client/inference.ts'
import type { StepNews } from '../../lib/client/steps.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Prover } from '../../lib/coprocessor/prover.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { errorLines, exitCodeOf } from '../../lib/host/explain-error.ts'
import { tryToWrite } from '../../lib/host/private-files.ts'
import { command, type Program, usageError } from '../../lib/host/program/program.ts'
import { runProgram } from '../../lib/host/program/run-program.ts'
import { Interrupted } from '../../lib/host/stop-signals.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { connectClient } from '../connect/connect-client.ts'
import { type Environment, parseClientSettings } from '../connect/settings.ts'
import { endOf, type Job, type JobEnd, type Stage, stageAfter, timedOut } from './job-end.ts'
import { args, completed, type InferCommand, options, texts } from './options.ts'
import { createProgress, type Progress, quietProgress, type Screen } from './progress.ts'
import { readPrompt } from './read-prompt.ts'
import { jsonFailure, keepReceipt, tellAnswer, tellUncommitted } from './tell-answer.ts'

// A job that no node can do would wait for others until its deadline.
const giveUpWhenStuckMs = 30_000

/** The parts of the process that the command uses. */
export type InferHost = {
  readonly environment: Environment
  readonly input: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean }
  readonly output: Screen
  readonly errors: Screen
  readonly clock: Clock
  readonly random: Random
  /** Makes proofs; processes of their own when left out. */
  readonly prover?: Prover | undefined
  /** Connects to the ICL; `connectClient` when left out. */
  readonly connect?: typeof connectClient
  /** Aborts with an Interrupted when the user wants to stop. */
  readonly signal: AbortSignal
}

/** The program that runs one prompt: the answer goes to `output`, all else to `errors`. */
export const inferProgram: Program<InferHost> = {
  ...texts,
  commands: [
    command({
      name: '',
      summary:
        'Encrypts a prompt on this machine, has a quorum of nodes answer it, checks the answer and prints it.',
      args,
      options,
      run: async (given, host: InferHost) => {
        const asked = completed(given, host.environment)
        const { errors, clock } = host
        const progress = asked.quiet
          ? quietProgress(errors)
          : createProgress(errors, () => clock.now())
        return await runCommand(asked, host, progress)
      },
    }),
  ],
  jsonFailure: (error) => jsonFailure(error, undefined),
}

/** Runs one prompt as a command. Returns the exit code. */
export const runInfer = (args: readonly string[], host: InferHost): Promise<number> =>
  runProgram(inferProgram, args, {
    print: (line) => void host.output.write(`${line}\n`),
    warn: (line) => void host.errors.write(`${line}\n`),
    context: () => host,
  })

async function runCommand(
  command: InferCommand,
  host: InferHost,
  progress: Progress,
): Promise<number> {
  const { clock } = host
  const late = new AbortController()
  const ended = new AbortController()
  const signal = AbortSignal.any([host.signal, late.signal])
  const limitMs = command.timeout * 1_000
  let stage: Stage = command.open ? 'earlier' : 'unsent'
  let detail: string | undefined
  let isAnswered = false
  clock.sleep(limitMs, ended.signal).then(
    // An answer that was checked waits no more than a minute for its place on chain.
    () => stage === 'checked' || late.abort(),
    () => {},
  )
  const sayCancelling = () => progress.say(stoppingText(host.signal.reason, stage))
  if (host.signal.aborted) sayCancelling()
  host.signal.addEventListener('abort', sayCancelling, { once: true })
  let client: Client | undefined
  const { open } = command
  let job: Job | undefined = open && { jobId: open }
  try {
    const settings = parseClientSettings(host.environment)
    if (command.receipt !== undefined) await checkReceiptPath(command.receipt)
    const { prompt: words } = command
    const typed = open || words.length > 0
    const prompt = typed ? words.join(' ') : await readPrompt(host.input, signal)
    client = await (host.connect ?? connectClient)(settings, {
      ...{ clock, random: host.random, signal },
      ...(host.prover && { prover: host.prover }),
      warn: (line) => command.quiet || progress.say(line),
    })
    const following = {
      onStep: (news: StepNews) => {
        stage = stageAfter(stage, news)
        if (news.phase === 'start' || news.phase === 'progress') detail = news.detail
        progress.onStep(news)
      },
      // What is paid for is fetched until the time is over.
      collectTimeoutMs: limitMs,
      signal,
    }
    const asking = async (by: Client) => ({
      ...(await wishOf(command, by, signal)),
      ...following,
      onPool: (compared: PoolComparison) => {
        const line = describeLeftOut(compared)
        if (line !== undefined && !command.quiet) progress.say(`note: ${line}`)
      },
      onSubmitted: (submitted: Job & { readonly webhookSecret?: string }) => {
        job = submitted
        const { webhookSecret } = submitted
        if (webhookSecret !== undefined) progress.say(`webhook secret: ${webhookSecret}`)
      },
      giveUpWhenStuckMs,
    })
    const { maxOutputTokens } = command
    const opening = { ...following, ...(maxOutputTokens !== undefined && { maxOutputTokens }) }
    const running = open ? client.open(open, opening) : client.infer(prompt, await asking(client))
    const result = await running.catch(uncommittedOf)
    if (result instanceof UncommittedError) {
      isAnswered = true
      await tellUncommitted(result, command, host, progress)
      await keepReceipt(command, result.inference, host)
      return exitCodes.tryAgain
    }
    if (result.status !== 'accepted') throw inferenceError(result)
    isAnswered = true
    await tellAnswer(result, command, host, progress)
    await keepReceipt(command, result, host)
    return exitCodes.done
  } catch (error) {
    progress.stop()
    const end = signal.aborted ? await endOf(job, client, stage) : undefined
    const isLate = late.signal.aborted && !host.signal.aborted
    if (end && !isLate) progress.say(lineOf(end))
    const failure = end && isLate ? timedOut(command.timeout, stage, end, detail) : error
    const reason = host.signal.aborted ? host.signal.reason : failure
    // One line of JSON is enough: the answer's, when only its receipt could not be kept.
    return await tellFailure(reason, command.json && !isAnswered, job?.jobId, progress, host)
  } finally {
    ended.abort()
    host.signal.removeEventListener('abort', sayCancelling)
  }
}

/** An answer that was not seen on chain is printed, so its error is returned. */
function uncommittedOf(error: unknown): UncommittedError {
  if (error instanceof UncommittedError) return error
  throw error
}

async function wishOf(command: InferCommand, client: Client, signal: AbortSignal) {
  const { check, comparator, rule, webhook, maxOutputTokens: tokens } = command
  return {
    model: command.model ?? (await onlyModel(client, signal)),
    rule,
    minMatches: command.minMatches,
    verifierCount: command.verifierCount,
    minTier: command.minTier,
    ...(comparator && { comparator }),
    ...(check && { check }),
    ...(webhook !== undefined && { webhook: { url: webhook } }),
    ...(tokens !== undefined && { parameters: { max_output_tokens: tokens } }),
  }
}

async function onlyModel(client: Client, signal: AbortSignal): Promise<string> {
  const models = await client.models({ signal })
  const served = models.map(({ model_id }) => model_id)
  const [only] = served
  if (only !== undefined && served.length === 1) return only
  if (served.length > 1)
    throw usageError('Which model?', `Give --model one of ${served.join(', ')}.`)
  throw new SvcError('not-enough-nodes', 'No node serves a model now', {
    hint: 'Wait until nodes are active, or use another ICL.',
    retryable: true,
  })
}

/** Checks before the answer is paid for. */
async function checkReceiptPath(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) throw usageError(`--receipt ${path} is a folder`, 'Name a file in it.')
  await tryToWrite(path)
}

async function tellFailure(
  error: unknown,
  json: boolean,
  jobId: Job['jobId'] | undefined,
  progress: Progress,
  { output }: InferHost,
): Promise<number> {
  // An error of the output must not hide the failure itself.
  if (json) {
    const line = `${JSON.stringify(jsonFailure(error, jobId))}\n`
    await Promise.resolve(output.write(line)).catch(() => {})
  }
  if (error instanceof Interrupted) return error.exitCode
  for (const line of errorLines(error)) progress.say(line)
  return exitCodeOf(error)
}

const lineOf = ({ words, opens }: JobEnd): string =>
  opens ? `${words}. \`${opens}\` opens its answer.` : `${words}.`

const stoppingText = (reason: unknown, stage: Stage): string =>
  `${reason instanceof Error ? reason.message : 'Stopped'}: ${stage === 'sent' ? 'cancelling the job' : 'stopping'}. Ctrl-C again leaves at once.`
