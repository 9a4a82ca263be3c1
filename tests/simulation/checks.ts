import { receiptOf } from '../../icl/operations/make-receipt.ts'
import { isSettled, type Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import { type ReputationEvent, standingOf } from '../../lib/reputation.ts'
import type { Stage } from './faults.ts'
import { findLeaks, type Secret, textOfStore, writingsOf } from './secrets.ts'

/** Jobs that have not settled, or of which something is still to be done outside. */
export const unfinished = (jobs: Iterable<Job>): readonly Job[] =>
  [...jobs].filter(({ phase, outbox }) => !isSettled(phase) || outbox.length > 0)

/** What is wrong once everything is healed and quiet, in words. */
export async function checkEnd(stage: Stage): Promise<readonly string[]> {
  const { world, ground } = stage
  const jobs = await world.jobs()
  const onChain = new Set(ground.chain.committed.map(({ jobId }) => jobId))
  const left = unfinished(jobs).map(
    ({ id, phase, outbox }) =>
      `job ${id.slice(0, 10)} is ${phase} with ${outbox.map(({ effect }) => effect.type).join(', ') || 'nothing'} to do`,
  )
  const absent = jobs
    .filter(({ phase, id }) => phase === 'accepted' && !onChain.has(id))
    .map(({ id }) => `job ${id.slice(0, 10)} was accepted, and is not on chain`)
  const blamed = [...jobs].flatMap((job) => wronglyBlamed(stage, job))
  return [
    ...[...left, ...absent, ...blamed],
    ...[...(await wrongReceipts(jobs)), ...(await wrongStandings(world.store))],
    ...(await leaks(stage)),
  ]
}

/** Real daemons that were found to contradict themselves, or, where everybody means to answer the same, one another. */
function wronglyBlamed({ machines, parameters }: Stage, job: Job): readonly string[] {
  const about = `job ${job.id.slice(0, 10)}`
  const nameOf = (node: string) => machines.find(({ address }) => address === node)?.name
  const faulty = (job.faults ?? []).flatMap(({ node, kind }) => {
    const name = nameOf(node)
    return name ? [`${about}: ${name} was found to be at fault: ${kind}`] : []
  })
  faulty.push(...wronglyWeighed(job, nameOf).map((wrong) => `${about}: ${wrong}`))
  if (parameters.disagrees > 0 || parameters.cheats.length > 0) return faulty
  const verdicts = job.agreement?.turns.flatMap((turn) => turn.verdicts) ?? []
  const different = verdicts.flatMap(({ body: { address, reason = 'match' } }) =>
    ['different-answer', 'output-mismatch'].includes(reason)
      ? [`${about}: ${nameOf(address)} found ${reason}, and nobody lied`]
      : [],
  )
  return [...faulty, ...different]
}

/** Real daemons whose answers or numbers count against them: the model finds every answer of the provider likely, and all see about the same numbers. */
const wronglyWeighed = (
  { assignments, weighing }: Job,
  nameOf: (node: string) => string | undefined,
): readonly string[] =>
  assignments.flatMap(({ node, fence, scores = [] }) => {
    const isShown = weighing?.shown.some((own) => own.fence === fence && own.cid !== undefined)
    const wrong = scores.filter(
      (code) =>
        code === 'answer-unlikely' ||
        code === 'numbers-odd' ||
        (code === 'never-shown' && isShown === true),
    )
    return wrong.map((code) => `${nameOf(node)} got ${code}, and was honest`)
  })

/** Accepted jobs without a receipt that holds: as when a node saw other commitments than it signed, or delivered out of turn. */
async function wrongReceipts(jobs: Iterable<Job>): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const job of jobs) {
    if (job.phase !== 'accepted') continue
    const about = `the receipt of job ${job.id.slice(0, 10)}`
    const receipt = receiptOf(job)
    if (!receipt) wrong.push(`${about} is missing`)
    else
      await verifyReceipt(receipt).catch((error) => wrong.push(`${about}: ${errorMessage(error)}`))
  }
  return wrong
}

/** Nodes whose standing is not what their events add up to. */
async function wrongStandings(store: Store): Promise<readonly string[]> {
  const events = new Map<string, ReputationEvent[]>()
  const wrong: string[] = []
  for await (const record of store.scan()) {
    if (record.kind === 'event') {
      events.set(record.event.node, [...(events.get(record.event.node) ?? []), record.event])
    }
  }
  for await (const record of store.scan()) {
    if (record.kind !== 'node') continue
    const { address, standing } = record.node
    const fold = standingOf(events.get(address) ?? [])
    if (JSON.stringify(fold) !== JSON.stringify(standing)) {
      wrong.push(`the standing of ${address.slice(0, 8)} is not the fold of its events`)
    }
  }
  return wrong
}

async function leaks({ world, ground, machines }: Stage): Promise<readonly string[]> {
  const { provider, coprocessor, errors } = ground
  const secrets: Secret[] = [
    ...[...provider.answers.keys()].map((text) => ({ kind: 'a prompt', text })),
    ...[...provider.answers.values()].flatMap((texts) =>
      [...texts].map((text) => ({ kind: 'an output', text })),
    ),
    ...coprocessor.halves.flatMap((half) =>
      writingsOf(half).map((text) => ({ kind: 'half of a key', text })),
    ),
    ...machines.map(({ apiKey }) => ({ kind: 'an API key', text: apiKey })),
  ]
  const places = [
    { place: 'the store', text: await textOfStore(world.store) },
    { place: 'a log of the ICL', text: world.logged().join('\n') },
    { place: 'an error', text: errors.join('\n') },
    ...machines.flatMap(({ name, logged, disk }) => [
      { place: `the log of ${name}`, text: logged.join('\n') },
      { place: `the disk of ${name}`, text: disk.join('\n') },
    ]),
  ]
  return findLeaks(places, secrets)
}
