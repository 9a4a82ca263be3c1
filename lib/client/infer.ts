import { isStructured } from '../answer.ts'
import { cidOf } from '../cid.ts'
import { elapsedSince } from '../clock.ts'
import type { CheckId, JobId } from '../codecs.ts'
import { jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import { needsOf } from '../prompt-needs.ts'
import type { JobEvent, JobView } from '../schemas/jobs.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import { SvcError } from '../svc-error.ts'
import { createBell } from './bell.ts'
import { expectedJob } from './check-receipt.ts'
import { type ChosenTerms, chooseTerms, type TermsOptions, wishOf } from './choose-terms.ts'
import type { StoredPromptKey } from './client-chain.ts'
import { toClientError } from './client-error.ts'
import { collect } from './collect.ts'
import type { PoolComparison } from './compare-pool.ts'
import type { ClientContext } from './context.ts'
import { type Further, followJob } from './follow-job.ts'
import { endedWithout, GoesOnError, type Inference, type ProofTimings } from './inference.ts'
import type { KeysAhead } from './keys-ahead.ts'
import { askForList, type JobList } from './own-list.ts'
import { givenUp, placeJob } from './place-job.ts'
import type { KeyHandles } from './prompt-key.ts'
import { encryptKey, storePromptKey } from './prompt-key.ts'
import { checkPrompt, newPromptKey, sealedBytesOf, sealPrompt } from './prompt-text.ts'
import { createStepRunner, type StepNews, type StepRunner } from './steps.ts'
import type { JobWish } from './submit-job.ts'
import { checkWish, nameJob } from './submit-job.ts'
import type { QueuePlace, Turns } from './turns.ts'

/** How to run one inference. */
export type InferOptions = Omit<TermsOptions, 'needs'> & {
  readonly parameters?: JobWish['parameters']
  /** Has two other nodes say how likely each answer is. It counts for nodes' weights, and not for the agreement. Only nodes that can do it are drawn. */
  readonly check?: CheckId
  /** A server that the ICL notifies once the job has settled. `onSubmitted` gets the secret of its messages. */
  readonly webhook?: JobWish['webhook']
  readonly onStep?: (news: StepNews) => void
  /** Called before anything is paid when the wallet cannot open the answer again: only this client can, while it is in memory. */
  readonly onNotReopened?: () => void
  /** Called with the pool's comparison with the chain, before the key is stored. `describeLeftOut` puts it into words. */
  readonly onPool?: (compared: PoolComparison) => void
  /** Called as soon as the ICL has the job. Any holder of the token can read and cancel it. `endList` takes `key`. */
  readonly onSubmitted?: (job: {
    readonly jobId: JobId
    readonly readToken: string
    readonly key: KeyHandles
    readonly webhookSecret?: string
  }) => void
  /** Called with the place in the queue while the inference waits, first among this client's own prompts, then at the ICL. */
  readonly onQueue?: (place: QueuePlace) => void
  /** Called for each event of the job, such as a claim. */
  readonly onEvent?: (event: JobEvent) => void
  /** Gives up once a lack of nodes has lasted this long, or once the list is used up, and cancels the job unless a node has committed. */
  readonly giveUpWhenStuckMs?: number
  /** How long fetching, decrypting and checking the answer of an accepted job are tried again, all together; 5 min when left out. */
  readonly collectTimeoutMs?: number
  /** How long the result may take to appear on chain; 60 s when left out. */
  readonly commitTimeoutMs?: number
  /** Aborting it cancels the job, unless a node has committed. */
  readonly signal?: AbortSignal
}

type Run = {
  readonly context: ClientContext
  readonly options: InferOptions
  readonly wish: JobWish
  readonly steps: StepRunner
  readonly keys: Pick<KeysAhead, 'take'> | undefined
  readonly further: Further
}

/** A stored key, and its list. */
type ListedKey = {
  readonly promptKey: Uint8Array<ArrayBuffer>
  readonly stored: StoredPromptKey
  readonly list: JobList
  readonly proof?: ProofTimings
}

type PreparedJob = Awaited<ReturnType<typeof prepare>>

/**
 * Has a quorum answer a prompt (a text is one message of the user), and returns the decrypted answer once every check has passed. Uses a
 * key of `keys` if one fits. Throws SvcError; UncollectedError for an answer that could not be fetched, UncommittedError for one without
 * its commitment, GoesOnError when it is too late to cancel.
 */
export async function infer(
  context: ClientContext,
  prompt: string | PromptDocument,
  options: InferOptions,
  { keys, turns }: { readonly keys?: Pick<KeysAhead, 'take'>; readonly turns?: Turns } = {},
): Promise<Inference> {
  const document = checkPrompt(prompt, context.network.limits.prompt_bytes)
  checkWish(options, context.network)
  const { model, parameters, webhook } = options
  const comparator = options.comparator ?? (isStructured(document) ? 'structured/1' : undefined)
  const listening = new AbortController()
  const news = createBell(context.clock)
  const run: Run = {
    further: { bell: news, until: listening.signal },
    context,
    options,
    keys,
    wish: {
      ...wishOf({
        ...options,
        comparator,
        needs: needsOf(document, parameters?.max_output_tokens, options.check),
      }),
      parameters,
      webhook,
    },
    steps: createStepRunner(context.clock, options.onStep),
  }
  try {
    const turn = await takeTurn(run, turns)
    const { job, view } = await runJob(run, document).finally(turn?.end)
    const { order, readToken, prompt: asked, secret, proof } = job
    const jobId = jobIdOf(order.identity)
    if (view.status !== 'accepted') {
      const timingsMs = run.steps.timings()
      const ended = { ...endedWithout(view), jobId, readToken, model, timingsMs }
      return { ...ended, ...(proof && { proof }) }
    }
    const expected = expectedJob(order, { ...run, preparedAt: job.preparedAt })
    const checks = async () => ({ expected, prompt: asked, secret })
    return await collect({ ...run, jobId, readToken, checks, proof, view, news }, options.signal)
  } catch (error) {
    if (!(error instanceof GoesOnError)) options.signal?.throwIfAborted()
    throw toClientError(error)
  } finally {
    listening.abort()
  }
}

/** Waits, before anything is paid, until this client may run one more job. */
const takeTurn = ({ options }: Run, turns: Turns | undefined) =>
  turns?.take((place) => options.onQueue?.(place), options.signal)

const describePlace = ({ place, waiting }: QueuePlace): string => `place ${place} of ${waiting}`

async function runJob(run: Run, prompt: PromptDocument) {
  const job = await prepare(run, prompt)
  return { job, view: await follow(run, job) }
}

/** Asks for the list of a stored key, which waits for the draw's turn. */
function listOf({ context, options }: Run, chosen: ChosenTerms, stored: StoredPromptKey) {
  return async (progress: (detail: string) => void) =>
    askForList(context, chosen, stored, options.signal, {
      onPlace: (place) => {
        progress(describePlace(place))
        options.onQueue?.(place)
      },
      onRetry: ({ message }) => progress(`the coordinator failed: ${message}`),
    })
}

/** Submits a job; returns it with what its answer is checked with. */
async function prepare(run: Run, prompt: PromptDocument) {
  const { context, steps, wish } = run
  const { signal } = run.options
  const preparedAt = await context.chain.time(signal)
  const { reopens } = await context.secret()
  if (!reopens) run.options.onNotReopened?.()
  const listed = (await useKeyAhead(run, preparedAt)) ?? (await storeNewKey(run, prompt))
  const { stored, list, proof } = listed
  const { blob, secret } = await steps.run('seal-prompt', () => sealPrompt(context, prompt, listed))
  const { identity } = nameJob(context, { ...stored, promptCid: await cidOf(blob) })
  const order = { identity, list }
  const submitted = await placeJob(context, steps, { ...order, wish, blob }, signal)
  const { read_token: readToken, webhook_secret: webhookSecret } = submitted
  return { preparedAt, order, prompt, secret, readToken, webhookSecret, proof }
}

// The ICL refuses a key that is stored more than 300 s after its pool was current. The rest is for the block.
const poolAgesMs = 60_000

async function storeNewKey(run: Run, prompt: PromptDocument): Promise<ListedKey> {
  const { context, steps, wish } = run
  const { signal } = run.options
  const choose = () => chooseTerms(context, wish, signal, sealedBytesOf(prompt))
  const chosenAt = context.clock.monotonic()
  let chosen = await steps.run('preview', choose)
  run.options.onPool?.(chosen.compared)
  const promptKey = newPromptKey(context)
  const { halves, proof } = await steps.run('encrypt-key', (progress) =>
    encryptKey(context, promptKey, progress, signal),
  )
  const stored = await steps.run('store-key', async (progress) => {
    if (elapsedSince(context.clock, chosenAt) > poolAgesMs) {
      progress('the proof took long: a newer pool is taken')
      chosen = await choose()
      run.options.onPool?.(chosen.compared)
    }
    return storePromptKey(context, halves, chosen.terms, signal)
  })
  const list = await steps.run('list', listOf(run, chosen, stored))
  return { promptKey, stored, list, ...(proof && { proof }) }
}

// Errors that the age of a key can cause. A list that fails its checks is not one: the ICL must not get another key for it.
const agedCodes: ReadonlySet<string> = new Set([
  ...['key-expired', 'terms-refused', 'block-differs'],
  ...['not-enough-nodes', 'not-enough-serving', 'model-limited', 'model-withdrawn'],
])

/** Undefined when no key fits, or when the ICL no longer draws a list for it. */
async function useKeyAhead(run: Run, now: number): Promise<ListedKey | undefined> {
  const { options, wish, steps, keys } = run
  const key = keys?.take(wish, now)
  if (key === undefined) return undefined
  const { chosen, promptKey, stored } = key
  const list = await steps.run('list', async (progress) => {
    try {
      return await listOf(run, chosen, stored)(progress)
    } catch (error) {
      const isKnown = error instanceof SvcError || error instanceof ProblemError
      if (!isKnown || !agedCodes.has(error.code)) throw error
      progress(`the key stored ahead is of no use (${error.code}): another one is stored`)
      return undefined
    }
  })
  if (list) options.onPool?.(chosen.compared)
  return list && { promptKey, stored, list }
}

async function follow(
  { context, options, steps, further }: Run,
  job: PreparedJob,
): Promise<JobView> {
  const { readToken, webhookSecret } = job
  const { identity } = job.order
  const jobId = jobIdOf(identity)
  const key = { highHandle: identity.kpHighHandle, lowHandle: identity.kpLowHandle }
  try {
    options.onSubmitted?.({ jobId, readToken, key, ...(webhookSecret && { webhookSecret }) })
    return await steps.run(
      'inference',
      (progress) =>
        followJob(context, {
          jobId,
          readToken,
          ...{ isNew: true, further },
          onEvent: (event) => {
            progress(describeEvent(event))
            options.onEvent?.(event)
          },
          giveUpWhenStuckMs: options.giveUpWhenStuckMs,
          signal: options.signal,
        }),
      ({ status }) => status === 'accepted',
    )
  } catch (error) {
    throw await givenUp(context, identity, error, job.readToken)
  }
}

const describeEvent = ({ type, role, node, detail }: JobEvent): string =>
  [type, role, node && `${node.slice(0, 8)}`, detail].filter((part) => part).join(' ')
