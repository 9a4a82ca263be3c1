import type { Store } from '../../icl/store/store.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { createFinder } from './api-document.ts'
import type { Call, Draft } from './call.ts'
import { checkResponse } from './check-response.ts'
import { learn } from './learn.ts'
import { nextCall } from './next-call.ts'
import { requestOf, send } from './send.ts'
import { type Counts, createCounts } from './tally.ts'
import { tourOf } from './tour.ts'
import { createWorld, type FuzzWorld, remember } from './world.ts'

/** What a run does. */
export type FuzzOptions = {
  readonly seed: number
  readonly requests: number
  readonly openStore?: (() => Promise<Store>) | undefined
  /** Through a real server and connections of this machine. */
  readonly overHttp?: boolean
  /** How many more requests may be sent to reach every endpoint. */
  readonly extra?: number
  readonly onProgress?: ((counts: Counts) => void) | undefined
}

/** Something that must not happen, with the request that it happened to. */
export type Finding = {
  readonly step: number
  readonly what: readonly string[]
  readonly call: Call
  readonly status: number | undefined
  readonly answer: string
}

/** What came of a run. */
export type FuzzResult = {
  readonly counts: Counts
  /** The first of each kind. */
  readonly findings: readonly Finding[]
  /** How many answers were wrong, of all kinds. */
  readonly wrong: number
  /** Secrets that show in the log or in the body of an error. */
  readonly leaks: readonly string[]
  /** Whether the search finds a secret that is put there on purpose. */
  readonly searchFinds: boolean
}

const mostFindings = 20
const mostExtra = 600
const outageEvery = 2_500
const outageSteps = 12

/** Sends so many requests made from the served document and checks every response by it. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const world = await createWorld(options.seed, options)
  try {
    return await sendAll(world, options)
  } finally {
    await world.stop()
  }
}

async function sendAll(world: FuzzWorld, options: FuzzOptions): Promise<FuzzResult> {
  const { icl, dice, document, planted } = world
  const { requests, extra = mostExtra, overHttp = false } = options
  const counts = createCounts(document)
  const find = createFinder(document)
  const found = createFindings()
  const { errors, leaks, search } = createSearch(world)
  const answered: Call[] = []
  const isOver = (step: number) =>
    found.list.length >= mostFindings ||
    (step > requests && (step > requests + extra || counts.unreached().length === 0))
  const tour = tourOf(world)
  for (let step = 1; !isOver(step); step++) {
    const onTour = (await tour.next()).value ?? undefined
    if (step % outageEvery === 0) icl.chain.down = chainAway()
    if (step % outageEvery === outageSteps) icl.chain.down = undefined
    const replayed = onTour === undefined && dice.chance(0.01) ? answered.at(-1) : undefined
    // Only after the requests that were asked for: the same seed makes the same ones, however many they are.
    const wanted = step > requests ? counts.unreached() : []
    const { call, draft } = replayed ? again(replayed) : await nextCall(world, wanted, onTour)
    const request = requestOf(call)
    // Bun's fetch makes one slash of two at the start of a path.
    const cannotBeSent = overHttp && call.target.startsWith('//')
    if (!request || cannotBeSent) {
      step--
      continue
    }
    const operation = find(call.method, new URL(request.url).pathname)
    const { answer, what } = await send(world, request).then(
      (got) => ({
        answer: got,
        what: got ? checkResponse(document, operation, call, got) : ['no answer within its time'],
      }),
      (error: unknown) => ({ answer: undefined, what: [`no answer: ${String(error)}`] }),
    )
    counts.add(operation, call, answer?.status)
    if (answer && answer.status >= 400) errors.push(answer.text)
    if (what.length > 0) {
      const text = answer?.text.slice(0, 400) ?? ''
      found.add(operation?.id, { step, what, call, status: answer?.status, answer: text })
    }
    if (answer && operation && answer.status < 300 && what.length === 0) {
      await learn(world, draft, call, answer)
      const isWallet = call.headers.get('signature-input')?.startsWith('eth=')
      if (isWallet && call.proof === 'sound') remember(answered, call, 1)
    }
    if (call.changes.length > 0 && (answer?.status ?? 500) >= 400) draft?.giveBack?.()
    await icl.clock.advance(dice.between(0, 60))
    if (step % 500 === 0) {
      search()
      options.onProgress?.(counts)
    }
  }
  search()
  const searchFinds = planted.find('a control', `x${planted.control}x`).length > 0
  return { counts, findings: found.list, wrong: found.wrong(), leaks: [...leaks], searchFinds }
}

/** The very same request, which must not count a second time. */
const again = (call: Call): { call: Call; draft: Draft | undefined } => ({
  call: { ...call, proof: 'replayed', refusedFor: 'a nonce used twice', changes: [] },
  draft: undefined,
})

/** Counts all findings, and keeps the first of each kind. */
function createFindings() {
  const list: Finding[] = []
  const kinds = new Set<string>()
  let wrong = 0
  return {
    list,
    wrong: () => wrong,
    add: (operation: string | undefined, finding: Finding) => {
      wrong++
      const kind = `${operation}: ${finding.what.join('; ')}`
      if (!kinds.has(kind)) list.push(finding)
      kinds.add(kind)
    },
  }
}

/** Searches what was logged, and the bodies of errors, for what was planted. */
function createSearch({ icl, planted }: FuzzWorld) {
  const errors: string[] = []
  const leaks = new Set<string>()
  const search = () => {
    const places = { 'the log': icl.logged, 'the body of an error': errors }
    for (const [place, texts] of Object.entries(places)) {
      for (const leak of planted.find(place, texts.splice(0).join('\n'))) leaks.add(leak)
    }
  }
  return { errors, leaks, search }
}

const chainAway = () => new SvcError('chain-unavailable', 'the chain is away', { hint: '' })
