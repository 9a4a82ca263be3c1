import type { ComparatorId } from '../../lib/codecs.ts'
import type { PromptNeeds } from '../../lib/schemas/prompt-needs.ts'
import { submissionOf } from '../icl/test-client.ts'
import { patient, untilHeard } from '../simulation/node.ts'
import type { World } from '../simulation/world.ts'
import type { AnswerBook, Asked } from './answer-book.ts'
import type { GasMeter } from './gas.ts'
import { groundKey, type Wanted } from './ground-key.ts'

const lookMs = 3_000
const patienceMs = 700_000

/** A job of a client, and how it goes about it. */
export type ClientJob = {
  readonly client: string
  readonly asked: Asked
  readonly comparator?: ComparatorId | undefined
  readonly wanted?: Wanted | undefined
  /** How many keys it stores at most for a list that it wants; without one it submits nothing. */
  readonly tries?: number | undefined
  readonly needs?: PromptNeeds | undefined
}

/** Runs one job of a client to its end; nothing is submitted when no list was what it wanted. */
export async function runClientJob(
  world: World,
  book: AnswerBook,
  meter: GasMeter,
  { client, asked, comparator = 'similar/2', wanted, tries, needs }: ClientJob,
): Promise<void> {
  const { icl, clock } = world
  const key = await groundKey(world, { client, comparator, wanted, tries, needs, meter })
  if (!key) return
  const { body, jobId, commit } = submissionOf(icl, key)
  book.note(jobId, asked)
  meter.spend('commitList')
  commit()
  const { read_token: readToken } = await key.api.submitJob({ body }, patient)
  const path = { params: { jobId } }
  const startedAt = clock.now()
  for (;;) {
    const view = await untilHeard(clock, undefined, () => key.api.getJob(path, { readToken }))
    if (!['open', 'running'].includes(view.status)) return
    const age = clock.now() - startedAt
    if (age > patienceMs) throw new Error(`job ${jobId} is still ${view.status}`)
    await clock.sleep(lookMs)
  }
}
