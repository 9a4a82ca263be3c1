import { type Agreed, describeAgreed } from '../../lib/client/agreed.ts'
import type { Client } from '../../lib/client/client.ts'
import type { AcceptedInference } from '../../lib/client/inference.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { type ReceiptPart, receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'

/** A check of a receipt, and its result. */
export type ReceiptCheck = {
  readonly name: string
  readonly about: string
  readonly passed: boolean
}

const shortly = (text: string): string => `${text.slice(0, 8)}…${text.slice(-4)}`

/** Says what each valid part of a receipt means, in the order of the checks. */
function partNames(receipt: Receipt, agreed: Agreed): readonly Omit<ReceiptCheck, 'passed'>[] {
  const { answers, delivery, failed_deliveries: failed, list, jobId } = receipt
  return [
    {
      name: 'The job is this one',
      about: `${shortly(jobId)} is made of your account, prompt and key`,
    },
    {
      name: 'Its list fits the terms',
      about: `${list.members.length} nodes could be asked, and every signer is one of them`,
    },
    ...answers.map(({ body: { address } }) => ({
      name: `Answer of ${shortly(address)}`,
      about: 'Its wallet granted the key that signed it, and it is in its place on the list',
    })),
    { name: 'Agreement', about: `Decided again: ${describeAgreed(agreed)}` },
    {
      name: 'Delivery',
      about: `${shortly(delivery.body.address)} had the turn${failed.length > 0 ? ` after ${failed.length} that failed` : ''}, and enough of the others opened its output`,
    },
    { name: 'Tally', about: 'Signed by the ICL over all of this' },
  ]
}

/** Checks the receipt again by itself, part by part. The parts after a failed one are unknown. */
async function partChecks({ receipt, agreed }: AcceptedInference, iclKeys: readonly string[]) {
  const held: ReceiptPart[] = []
  const failure = await verifyReceipt(receipt, { iclKeys, onHeld: (part) => held.push(part) }).then(
    () => undefined,
    (error: unknown) => errorMessage(error),
  )
  return partNames(receipt, agreed)
    .slice(0, failure === undefined ? undefined : held.length + 1)
    .map(({ name, about }, index) => {
      const passed = index < held.length
      return { name, about: passed ? about : (failure ?? ''), passed }
    })
}

async function stakeCheck({ context }: Client, receipt: Receipt, signal: AbortSignal) {
  const nodes = receipt.answers.map(({ body }) => body.address)
  const states = await Promise.all(nodes.map((node) => context.chain.nodeOf(node, signal)))
  const passed = states.every(({ staked }) => staked)
  const about = passed
    ? `All ${nodes.length} nodes have a stake on chain to lose`
    : 'A node has no stake on chain'
  return { name: 'Stakes', about, passed }
}

/** Checks that the chain holds the receipt's list for its key, to which the client committed. */
async function listCheck({ context }: Client, receipt: Receipt, signal: AbortSignal) {
  const { jobId, kpHighHandle, kpLowHandle, list } = receipt
  const { members, activator, until } = list
  const onChain = await context.chain.listOf(kpHighHandle, kpLowHandle, signal)
  const passed = onChain?.commitment === listCommitment({ jobId, activator, until, list: members })
  const about = passed
    ? 'The chain holds this list for your key: the ICL could choose no others'
    : 'The chain holds another list for your key'
  return { name: 'List on chain', about, passed }
}

async function chainCheck(
  { context }: Client,
  { receipt, commitTx, jobId }: AcceptedInference,
  signal: AbortSignal,
) {
  const hash = await receiptHash(receipt)
  const onChain = await context.chain.receiptHashIn(commitTx, jobId, signal)
  const passed = onChain === hash
  const about = passed
    ? `${shortly(hash)} stands in transaction ${shortly(commitTx)}`
    : `Transaction ${shortly(commitTx)} does not hold ${shortly(hash)}`
  return { name: 'Hash on chain', about, passed }
}

/** Checks an answer's receipt against the ICL's published keys and the chain. Throws when either is unavailable. */
export async function checkReceipt(
  client: Client,
  inference: AcceptedInference,
  signal: AbortSignal,
): Promise<readonly ReceiptCheck[]> {
  const { receipt } = inference
  const { keys } = await client.context.api.getJwks({}, { signal, attempts: 3 })
  const iclKeys = keys.filter(({ crv }) => crv === 'Ed25519').map(({ x }) => x)
  return [
    ...(await partChecks(inference, iclKeys)),
    await listCheck(client, receipt, signal),
    await stakeCheck(client, receipt, signal),
    await chainCheck(client, inference, signal),
  ]
}
