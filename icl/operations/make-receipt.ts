import { receiptHash, recordHash } from '../../lib/receipt.ts'
import { publicOrigin } from '../../lib/schemas/network.ts'
import type { Receipt, ReceiptRecord, Tally } from '../../lib/schemas/receipt.ts'
import { statementBytes } from '../../lib/statements.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Answered, answersOf, currentTurn } from '../rules/agreed.ts'
import type { Job, Turn } from '../rules/job.ts'
import type { PostedDelivery } from '../rules/posted.ts'
import { batchOf } from '../rules/seats.ts'
import { maxOutputTokensOf } from './max-output-tokens.ts'
import { signedOf } from './signed-of.ts'
import { viewList } from './view-list.ts'

/** The receipt of a job that has been accepted and has none yet, with its hash. */
export async function receiptFor(
  deps: Dependencies,
  job: Job,
): Promise<Pick<Required<Job>, 'receipt' | 'receiptHash'> | undefined> {
  const turn = currentTurn(job)
  if (job.phase !== 'accepted' || job.receipt || !turn?.delivery) return undefined
  const receipt = await makeReceipt(deps, job, turn, turn.delivery)
  return { receipt, receiptHash: await receiptHash(receipt) }
}

async function makeReceipt(
  deps: Dependencies,
  job: Job,
  turn: Turn,
  delivery: PostedDelivery,
): Promise<Receipt> {
  const answers = answersOf(job)
  const record: ReceiptRecord = {
    version: 3,
    icl_origin: publicOrigin(deps.network),
    chain_id: deps.network.chain_id,
    jobId: job.id,
    client: job.client,
    client_nonce: job.clientNonce,
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    prompt_cid: job.promptCid,
    max_output_tokens: maxOutputTokensOf(job),
    list: viewList(job),
    answers: answers.map(({ answer, seat }) => ({
      ...signedOf(answer),
      batch: batchOf(job, seat),
    })),
    over: seatsOver(job),
    failed_deliveries: failedDeliveries(job, answers),
    delivery: signedOf(delivery),
    verdicts: turn.verdicts.map(signedOf),
    ...(turn.opened && { attested: [...turn.opened] }),
  }
  const group = job.agreement?.group ?? []
  const tally: Tally = {
    statement: 'svc-tally-v3',
    jobId: job.id,
    record: await recordHash(record),
    group: answers.reduce(
      (mask, { fence }, index) => (group.includes(fence) ? mask | (1 << index) : mask),
      0,
    ),
    deliverer: delivery.body.address,
    settled_at: toSeconds(job.settledAt ?? deps.clock.now()),
  }
  const { publicKey: key, sign } = deps.keys.tally
  return { ...record, tally: { body: tally, key, signature: await sign(statementBytes(tally)) } }
}

/** Every seated node that gave no answer, and why. */
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
