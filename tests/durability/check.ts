// After each fault, and once more in the end: all that was acknowledged is there, the same as it was told, and was done once.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isSettled, type Job } from '../../icl/rules/job.ts'
import type { PostedVerdict } from '../../icl/rules/posted.ts'
import type { Store } from '../../icl/store/store.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import { Address } from '../../lib/codecs.ts'
import { type JobRecord, readHistory } from '../../node/journal/history.ts'
import type { Told } from './load.ts'
import type { World } from './world.ts'

const recordPauseMs = 5_000

/** Something that is not as it has to be. */
export type Problem = {
  readonly kind: 'lost' | 'doubled' | 'unsettled'
  /** The job, or what else it is about. */
  readonly about: string
  readonly what: string
}

/** What was looked for, and what is wrong. */
export type Findings = {
  readonly problems: readonly Problem[]
  /** The jobs as the store has them, by id. */
  readonly jobs: ReadonlyMap<string, Job>
  readonly statements: number
}

/** Looks for what was acknowledged of some jobs; others may be under way. */
export async function checkTold(world: World, told: readonly Told[]): Promise<Findings> {
  const commits = await commitsOf(world)
  const histories = await historiesOf(world)
  const store = await world.look()
  try {
    const jobs = new Map<string, Job>()
    for (const { jobId } of told) {
      const found = await store.findJob(jobId)
      if (found) jobs.set(jobId, found.document)
    }
    const said = histories.filter(({ jobId }) => jobs.has(jobId))
    const problems = [
      ...told.flatMap((one) => lossesOf(one, jobs.get(one.jobId))),
      ...said.flatMap((one) => lostStatement(one, jobs.get(one.jobId))),
      ...[...jobs.values()].flatMap((job) => wrongCommits(job, commits)),
    ]
    return { problems, jobs, statements: said.length }
  } finally {
    await store.close()
  }
}

/** Looks at everything, once nothing is under way any more. */
export async function checkAll(world: World, told: readonly Told[]): Promise<Findings> {
  const findings = await checkTold(world, told)
  const commits = await commitsOf(world)
  const store = await world.look()
  try {
    const jobs: Job[] = []
    for await (const record of store.scan()) if (record.kind === 'job') jobs.push(record.job)
    const known = new Set<string>(jobs.map(({ id }) => id))
    const problems: Problem[] = [
      ...findings.problems,
      ...jobs.flatMap((job) => [
        ...unsettled(job),
        ...wrongCommits(job, commits),
        ...missingCommit(job, commits),
      ]),
      ...[...commits.keys()]
        .filter((id) => !known.has(id))
        .map(
          (id): Problem => ({ kind: 'lost', about: id, what: 'is on chain and not in the store' }),
        ),
      ...(await wrongScores(world, store, jobs)),
      ...(await lostRecords(told)),
    ]
    return { ...findings, problems }
  } finally {
    await store.close()
  }
}

const problem = (kind: Problem['kind'], about: string) => (isWrong: boolean, what: string) =>
  isWrong ? [{ kind, about, what }] : []

function lossesOf(
  { jobId, prompt, events, inference, submittedAt }: Told,
  job: Job | undefined,
): readonly Problem[] {
  const lost = problem('lost', jobId)
  if (!job) {
    const when = new Date(submittedAt).toISOString()
    return lost(true, `the job is gone, taken in before ${when}, ${events.size} events told`)
  }
  const kept = new Map(job.events.map((event) => [event.seq, event]))
  const oldest = job.events[0]?.seq ?? 1
  const changed = [...events.values()].filter(
    (event) => event.seq >= oldest && !isDeepStrictEqual(plain(event), plain(kept.get(event.seq))),
  )
  const accepted = inference?.status === 'accepted' ? inference : undefined
  return [
    ...changed.flatMap(({ seq, type }) =>
      lost(true, `event ${seq} (${type}) is gone or another one`),
    ),
    ...lost(
      inference !== undefined && inference.status !== job.phase,
      `${inference?.status} is ${job.phase}`,
    ),
    ...(accepted
      ? [
          ...lost(accepted.receiptHash !== job.receiptHash, 'the receipt is another one'),
          ...lost(accepted.commitTx !== job.commitTx, 'the transaction is another one'),
          ...lost(!accepted.output.includes(prompt), 'the answer is to another prompt'),
        ]
      : []),
  ]
}

/** An event without what is left out on the wire. */
const plain = (value: unknown): unknown => value && JSON.parse(JSON.stringify(value))

/** What a node noted as posted was acknowledged to it. */
type Statement = JobRecord & { readonly node: string }

const signedOutcomes: readonly string[] = ['answered', 'result-posted', 'match', 'no-match']

async function historiesOf({ nodes }: World): Promise<readonly Statement[]> {
  const all = nodes.map(async ({ address: node, folder }) => {
    const history = await readHistory(join(folder, 'jobs.jsonl'))
    return history
      .filter(({ outcome }) => signedOutcomes.includes(outcome))
      .map((record): Statement => ({ ...record, node }))
  })
  return (await Promise.all(all)).flat()
}

function lostStatement({ node, jobId, fence, outcome }: Statement, job: Job | undefined) {
  const assignment = job?.assignments.find((one) => one.fence === fence && one.node === node)
  const turns = job?.agreement?.turns ?? []
  const saysSo = ({ body }: PostedVerdict) => body.fence === fence && body.verdict === outcome
  const kept = {
    answered: true,
    'result-posted': turns.some((turn) => turn.fence === fence && turn.delivery),
    match: turns.some(({ verdicts }) => verdicts.some(saysSo)),
    'no-match': turns.some(({ verdicts }) => verdicts.some(saysSo)),
  }[outcome as string]
  const isGone = assignment?.answer === undefined || !kept
  return problem('lost', jobId)(isGone, `the statement (${outcome}) of ${node} is gone`)
}

/** The receipt hashes that were committed on chain for each job; a conflict counts as one more. */
async function commitsOf({ chain }: World): Promise<ReadonlyMap<string, readonly string[]>> {
  const { publicClient } = createChainReader(chain)
  const address = chain.contracts.resultRegistry
  const from = { address, abi: resultRegistryAbi, fromBlock: 0n, strict: true } as const
  const commits = await publicClient.getContractEvents({ ...from, eventName: 'ResultCommitted' })
  const conflicts = await publicClient.getContractEvents({ ...from, eventName: 'ResultConflict' })
  const byJob = new Map<string, string[]>()
  const add = (jobId: string, hash: string) => byJob.set(jobId, [...(byJob.get(jobId) ?? []), hash])
  for (const { args } of commits) add(args.jobId, args.receiptHash)
  for (const { args } of conflicts) add(args.jobId, 'conflict')
  return byJob
}

function wrongCommits(job: Job, all: ReadonlyMap<string, readonly string[]>): readonly Problem[] {
  const commits = all.get(job.id) ?? []
  const doubled = problem('doubled', job.id)
  return [
    ...doubled(commits.length > 1, `was committed ${commits.length} times`),
    ...doubled(commits.length > 0 && job.phase !== 'accepted', `is ${job.phase}, and on chain`),
    ...doubled(
      commits.some((hash) => hash !== job.receiptHash),
      'has another receipt on chain',
    ),
  ]
}

const missingCommit = (job: Job, commits: ReadonlyMap<string, readonly string[]>) =>
  problem('lost', job.id)(
    job.phase === 'accepted' && !commits.has(job.id),
    'is accepted, and not on chain',
  )

function unsettled(job: Job): readonly Problem[] {
  const left = problem('unsettled', job.id)
  return [
    ...left(!isSettled(job.phase), `is still ${job.phase} (${job.reason ?? 'no reason'})`),
    ...left(
      job.outbox.length > 0,
      `has still to do: ${job.outbox.map(({ effect }) => effect.type)}`,
    ),
  ]
}

/** Each thing that a node was scored for counts once in its reputation. */
async function wrongScores(
  world: World,
  store: Store,
  jobs: readonly Job[],
): Promise<readonly Problem[]> {
  const all = world.nodes.map(async ({ address }) => {
    const events = await store.listReputationEvents(Address.parse(address), { limit: 100_000 })
    const assignments = jobs
      .flatMap((job) => job.assignments)
      .filter(({ node }) => node === address)
    const scores = assignments.reduce((sum, { scores = [] }) => sum + scores.length, 0)
    return [
      ...problem('doubled', address)(
        events.length > scores,
        `${events.length} events for ${scores} scores`,
      ),
      ...problem('lost', address)(
        events.length < scores,
        `${events.length} events for ${scores} scores`,
      ),
    ]
  })
  return (await Promise.all(all)).flat()
}

/** Each client gets the record of its jobs, and all signatures in it hold. A connection may break; what is lost stays so. */
async function lostRecords(told: readonly Told[]): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  for (const { client, jobId } of told) {
    const again = async (error: unknown) => {
      process.stderr.write(`record of ${jobId}, asked for again: ${error}\n`)
      await sleep(recordPauseMs)
      return client.record(jobId)
    }
    await client
      .record(jobId)
      .catch(again)
      .catch((error: unknown) => {
        problems.push({ kind: 'lost', about: jobId, what: `no record: ${error}` })
      })
  }
  return problems
}
