import type { Address } from '../../lib/codecs.ts'
import { keccak256Hex, utf8 } from '../../lib/digest.ts'
import { receiptHash } from '../../lib/receipt.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import { type RecordedResult, readRecordedResult } from '../chain/recorded-result.ts'
import { timeText } from './amounts.ts'
import type { CommandContext } from './context.ts'
import { networkOf, rpcName, withTimeout } from './reach.ts'

/** Returns the contracts to compare a receipt with: the given ones, else those of the receipt's ICL. Throws SvcErrors. */
export async function contractsFor(
  receipt: Receipt,
  given: { readonly resultRegistry?: Address; readonly promptKeyStore?: Address },
  context: CommandContext,
): Promise<{ readonly resultRegistry: Address; readonly promptKeyStore: Address }> {
  const { resultRegistry, promptKeyStore } = given
  if (resultRegistry && promptKeyStore) return { resultRegistry, promptKeyStore }
  const { chain_id: chainId, contracts } = await networkOf(receipt.icl_origin, context)
  if (chainId !== receipt.chain_id) {
    throw differs(`its ICL works on chain ${chainId}, the receipt is of another`)
  }
  return {
    resultRegistry: resultRegistry ?? contracts.result_registry,
    promptKeyStore: promptKeyStore ?? contracts.prompt_key_store,
  }
}

/** Checks that the chain holds this receipt, and says where. Throws SvcError `receipt-differs` or `not-committed`, and chain errors. */
export async function compareWithChain(
  receipt: Receipt,
  place: { readonly rpcUrl: string; readonly resultRegistry: Address },
  context: CommandContext,
): Promise<string> {
  const { rpcUrl, resultRegistry } = place
  const chainId = receipt.chain_id
  const recorded = await withTimeout(context, rpcName(rpcUrl), async (signal) => {
    await checkEndpoint({ rpcUrl, chainId }, signal)
    return await readRecordedResult({ rpcUrl, chainId, resultRegistry }, receipt.jobId, signal)
  })
  if (recorded === undefined) throw notCommitted(resultRegistry)
  const difference = await differenceOf(receipt, recorded)
  if (difference !== undefined) throw differs(difference)
  return `ResultRegistry ${resultRegistry} holds its hash since ${timeText(recorded.committedAt)}`
}

async function differenceOf(
  receipt: Receipt,
  recorded: RecordedResult,
): Promise<string | undefined> {
  const { group, deliverer } = receipt.tally.body
  const members = receipt.answers.flatMap(({ body }, place) =>
    (group >> place) & 1 ? [body.address] : [],
  )
  const others = members.filter((member) => member !== deliverer)
  const said = receipt.verdicts.filter(({ body }) => others.includes(body.address))
  const matches = said.filter(({ body }) => body.verdict === 'match').length
  const same: readonly [boolean, string][] = [
    [recorded.receiptHash === (await receiptHash(receipt)), 'another receipt hash'],
    [
      recorded.outputCidHash === keccak256Hex(utf8(receipt.delivery.body.output_cid)),
      'another output',
    ],
    [recorded.leader === deliverer, 'another leader'],
    [recorded.verifiers.join() === others.join(), 'other verifiers'],
    [
      recorded.matches === matches && recorded.noMatches === said.length - matches,
      'other verdicts',
    ],
  ]
  const found = same.find(([holds]) => !holds)?.[1]
  return found && `the chain holds ${found} for this job`
}

const differs = (why: string): SvcError =>
  new SvcError('receipt-differs', `The receipt does not fit the chain: ${why}`, {
    hint: 'Do not rely on this answer: the ICL committed to one receipt and showed another.',
  })

const notCommitted = (registry: Address): SvcError =>
  new SvcError('not-committed', `ResultRegistry ${registry} holds no result of this job`, {
    hint: "It is committed soon after the job was accepted. If it does not appear, ask the ICL's operator.",
    retryable: true,
  })
