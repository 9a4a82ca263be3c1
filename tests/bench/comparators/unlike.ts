// Prompts through the whole service with nodes on unlike processors, one of which may serve a cheaper copy of the weights: how many jobs are
// accepted, and what the answers do to each node's standing.
import { clientOf } from '../../../demo/ask.ts'
import { startWorld, type World } from '../../../demo/world.ts'
import { createApi } from '../../../lib/api.ts'
import type { Inference } from '../../../lib/client/inference.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import type { AgreementRule } from '../../../lib/schemas/terms.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { systemFetch } from '../../../lib/system-fetch.ts'
import { table } from '../table.ts'
import type { RecordedAnswers } from './answers-file.ts'
import { copies, realName } from './real-models.ts'
import { levelsOf, promptOfLine, setOf } from './record-real.ts'
import { type Seat, startReplay, textOf } from './replay.ts'

const model = `vllm:${realName}`
const limit = 256

/** Returns the seats of nodes: `LEVEL`, or a copy of the weights on the second level. Throws RangeError for one that is not recorded. */
function seatsOf(sets: RecordedAnswers, names: readonly string[]): readonly Seat[] {
  const levels = levelsOf(sets)
  return names.map((name) => {
    const copy = copies.find((one) => one === name)
    const seat: Seat = copy
      ? { level: levels[1] ?? '', weights: copy, texts: copy }
      : { level: name, weights: 'Q4_1', texts: String(levels.indexOf(name)) }
    if (sets[setOf(seat.level, seat.weights)]) return seat
    throw new RangeError(`The recording has no scores by ${name}: it has ${Object.keys(sets)}`)
  })
}

type Count = { answered: number; agreed: number; delivered: number }

/** Asks the first prompts of which each seat has a text, one after another. Resolves with what came of them, and a line for each node. */
export async function askUnlike(
  sets: RecordedAnswers,
  options: {
    readonly seats: readonly string[]
    readonly prompts: number
    readonly rule: AgreementRule
  },
  tell: (line: string) => void,
): Promise<string> {
  const seats = seatsOf(sets, options.seats)
  const [first = []] = seats.map(({ level, weights }) => sets[setOf(level, weights)])
  const asked = first
    .filter((question) => seats.every((seat) => textOf(question, seat)))
    .slice(0, options.prompts)
  const replay = await startReplay(sets, seats)
  const world = await startWorld({
    ...{ models: [model], nodes: seats.length },
    providerEnv: (index) => ({ SVC_VLLM_BASE_URL: `${replay.url}/${index}/v1` }),
  })
  try {
    const counts = new Map(
      world.nodes.map(({ address }) => [address, { answered: 0, agreed: 0, delivered: 0 }]),
    )
    const client = await clientOf(world)
    let accepted = 0
    for (const [at, { q }] of asked.entries()) {
      const result = await client
        .infer(promptOfLine(q), {
          ...{ model, rule: options.rule, check: 'teacher/1', giveUpWhenStuckMs: 5_000 },
          parameters: { max_output_tokens: limit },
        })
        .catch(errorMessage)
      if (typeof result === 'object' && result.status === 'accepted') {
        accepted++
        count(counts, result)
      }
      tell(`${at + 1} of ${asked.length}: ${typeof result === 'string' ? result : result.status}`)
    }
    return `${accepted} of ${asked.length} accepted\n${await nodesText(world, options.seats, counts)}`
  } finally {
    await world.stop()
    await replay.close()
  }
}

function count(
  counts: ReadonlyMap<string, Count>,
  { receipt, deliverer }: Extract<Inference, { status: 'accepted' }>,
): void {
  const { answers, tally } = receipt
  for (const [place, { body }] of answers.entries()) {
    const of = counts.get(body.address)
    if (!of) continue
    of.answered++
    if ((tally.body.group >> place) & 1) of.agreed++
    if (body.address === deliverer) of.delivered++
  }
}

async function nodesText(
  { icl, nodes }: World,
  names: readonly string[],
  counts: ReadonlyMap<string, Count>,
): Promise<string> {
  const api = createApi({
    ...{ baseUrl: icl.url, fetch: systemFetch, clock: systemClock, random: systemRandom },
  })
  const rows = nodes.map(async ({ address }, at) => {
    const { metrics, draw } = await api.getNode({ params: { address } })
    const { answered = 0, agreed = 0, delivered = 0 } = counts.get(address) ?? {}
    const numbers = [answered, agreed, delivered, metrics.reputation_score]
    return [names[at] ?? '', ...[...numbers, draw?.doubt_millinats, draw?.weight].map(String)]
  })
  return table([
    ['node', 'answers', 'agreed', 'delivered', 'score', 'doubt', 'weight'],
    ...(await Promise.all(rows)),
  ])
}
