import type { Address, Hash32 } from '../../lib/codecs.ts'
import { tallied } from '../../lib/receipt.ts'
import type { Receipt, ReceiptRecord, Tally } from '../../lib/schemas/receipt.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { signStatement } from '../records/icl-keys.ts'
import { type Answered, answersOf, currentTurn } from '../rules/agreed.ts'
import { type Job, maxOutputTokensOf, type Turn } from '../rules/job.ts'
import { type PostedDelivery, signedOf } from '../rules/posted.ts'
import { commitmentsOf } from '../rules/seats.ts'
import { viewList } from './view-job.ts'

/** Makes what an accepted job keeps of its receipt, with the receipt's hash; undefined when the job has a receipt or is not accepted. */
export async function receiptFor(
  deps: Dependencies,
  job: Job,
): Promise<Pick<Required<Job>, 'receipt' | 'receiptHash'> | undefined> {
  const turn = currentTurn(job)
  if (job.phase !== 'accepted' || job.receipt || !turn?.delivery) return undefined
  const { chain_id } = deps.network
  const record = recordOf(job, chain_id, turn, turn.delivery)
  const deliverer = turn.delivery.body.address
  const { tally, receiptHash } = await tallied(record, (hash) =>
    tallyOf(deps, job, hash, deliverer),
  )
  return { receipt: { chain_id, tally }, receiptHash }
}

/** Returns the receipt of an accepted job. It is the same each time, because its contents do not change once the job has settled. */
export function receiptOf(job: Job): Receipt | undefined {
  const turn = currentTurn(job)
  if (!job.receipt || !turn?.delivery) return undefined
  const { chain_id, tally } = job.receipt
  return { ...recordOf(job, chain_id, turn, turn.delivery), tally }
}

function recordOf(job: Job, chain_id: number, turn: Turn, delivery: PostedDelivery): ReceiptRecord {
  const answers = answersOf(job)
  return {
    version: 4,
    icl_origin: job.list.terms.icl_origin,
    chain_id,
    jobId: job.id,
    client: job.client,
    client_nonce: job.clientNonce,
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    prompt_cid: job.promptCid,
    max_output_tokens: maxOutputTokensOf(job),
    list: viewList(job),
    answers: answers.map(({ answer, batch }) => ({ ...signedOf(answer), batch })),
    seen: Array.from({ length: 1 + (answers.at(-1)?.batch ?? 0) }, (_, batch) =>
      commitmentsOf(job, batch),
    ),
    over: seatsOver(job),
    failed_deliveries: failedDeliveries(job, answers),
    delivery: signedOf(delivery),
    verdicts: turn.verdicts.map(signedOf),
    ...attestedIn(job),
  }
}

/** The numbers that nodes gave of the answers, if there are any. */
export function attestedIn({ weighing }: Job): Pick<ReceiptRecord, 'attested'> {
  const opened = weighing?.opened ?? []
  return opened.length === 0 ? {} : { attested: opened.map(signedOf) }
}

async function tallyOf(deps: Dependencies, job: Job, record: Hash32, deliverer: Address) {
  const group = job.agreement?.group ?? []
  const body: Tally = {
    statement: 'svc-tally-v3',
    jobId: job.id,
    record,
    group: answersOf(job).reduce(
      (mask, { fence }, index) => (group.includes(fence) ? mask | (1 << index) : mask),
      0,
    ),
    deliverer,
    settled_at: toSeconds(job.settledAt ?? deps.clock.now()),
  }
  return signStatement(deps.keys, body)
}

const seatsOver = ({ assignments }: Job): ReceiptRecord['over'] =>
  assignments.flatMap(({ position, fence, reason, endedAt, answer }) =>
    answer || reason === undefined || endedAt === undefined
      ? []
      : [{ position, fence, reason, at: toSeconds(endedAt) }],
  )

const failedDeliveries = (
  { agreement }: Job,
  answers: readonly Answered[],
): ReceiptRecord['failed_deliveries'] =>
  (agreement?.turns ?? []).flatMap(({ fence, failed, delivery, verdicts }) => {
    const deliverer = answers.find((answered) => answered.fence === fence)
    if (!failed || !deliverer) return []
    return [
      {
        address: deliverer.node,
        reason: failed.reason,
        ...(failed.abort && { abort: signedOf(failed.abort) }),
        ...(delivery && { delivery: signedOf(delivery) }),
        verdicts: verdicts.map(signedOf),
      },
    ]
  })
