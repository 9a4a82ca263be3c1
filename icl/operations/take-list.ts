import { unixSeconds } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { SubmitJob } from '../../lib/schemas/jobs.ts'
import type { SignedList } from '../../lib/schemas/list.ts'
import { hourMs, toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { keyOf } from '../records/keys.ts'
import { verifyList } from '../records/own-lists.ts'
import type { Job, JobList } from '../rules/job.ts'
import { listSeconds } from './own-key.ts'

/** Longer than a list of a key is taken: it is drawn for 30 minutes after the key was stored, and taken for ten more. */
const keptMs = hourMs

const refused = (why: string) => new ProblemError('list-refused', `${why}. Ask for the list again`)

/** Returns the list of a submission. Checks that this ICL signed it for this client and key, and that its block still stands. */
export async function jobListOf(
  deps: Dependencies,
  client: Address,
  id: JobId,
  submission: SubmitJob,
  deadline: number,
): Promise<JobList> {
  const { list: signed, until } = submission
  const { terms, block, list: members, coordinator: activator } = signed.body
  await checkSignature(deps, signed)
  checkIsOf(client, submission)
  const age = unixSeconds(deps.clock) - signed.body.at
  if (age > listSeconds) {
    throw refused(`The list was signed ${age} s ago, and is taken for ${listSeconds} s`)
  }
  if (activator !== deps.chain.coordinator) {
    throw refused(`The list names the coordinator ${activator}, which is another by now`)
  }
  if (until * 1000 < deadline) {
    throw new ProblemError(
      'invalid-request',
      `\`until\` is before the deadline of the job, ${toSeconds(deadline)}. Commit to the list with a later one`,
    )
  }
  // Asked before the chain is.
  const holder = await deps.store.findKey(nameOf(submission), deps.clock.now())
  if (holder !== undefined && holder !== id) throw keyUsed(holder)
  await checkBlock(deps, submission)
  const commitment = listCommitment({ jobId: id, activator, until, list: members })
  return { terms, block, members, activator, until, commitment }
}

async function checkSignature({ keys }: Dependencies, list: SignedList): Promise<void> {
  const isOwn = keys.jwks.keys.some(({ crv, x }) => crv === 'Ed25519' && x === list.key)
  if (isOwn && (await verifyList(list))) return
  throw refused('No published key of this ICL has signed the list')
}

function checkIsOf(client: Address, { kpHighHandle, kpLowHandle, model_id, list }: SubmitJob) {
  const { body } = list
  if (body.client !== client) throw refused('The list is for another client')
  if (body.kpHighHandle !== kpHighHandle || body.kpLowHandle !== kpLowHandle) {
    throw refused('The list is for another key')
  }
  if (body.terms.model_id !== model_id) {
    throw refused(`The list is for the model ${body.terms.model_id}`)
  }
}

/** Checks the key's block. A reorganisation may have moved the key to another block, which makes another list. */
async function checkBlock(deps: Dependencies, { list, kpHighHandle, kpLowHandle }: SubmitJob) {
  const { block, client } = list.body
  const { number } = block
  const key = await deps.chain.storedKeyAt(client, kpHighHandle, kpLowHandle, number, 'now')
  if (key?.block.hash === block.hash) return
  throw new ProblemError(
    'key-unknown',
    `The chain does not show the key in block ${block.number} with the hash ${block.hash} now. Ask for the list of the block that has it`,
    { retryAfterSeconds: 2 },
  )
}

const nameOf = ({ kpHighHandle, kpLowHandle }: Pick<Job, 'kpHighHandle' | 'kpLowHandle'>) =>
  keyOf('prompt-key', kpHighHandle, kpLowHandle)

/** The write that binds a prompt key to its one job. It is refused when another job has the key. */
export function keyWriteOf({ clock }: Pick<Dependencies, 'clock'>, job: Job) {
  const now = clock.now()
  return { kind: 'key', key: nameOf(job), value: job.id, now, expiresAt: now + keptMs } as const
}

/** The refusal of a job whose prompt key another job has. */
export const keyUsed = (holder: string) =>
  new ProblemError('key-used', `The prompt key is the one of job ${holder}. Store another key`)
