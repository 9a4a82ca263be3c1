// Problem: a run may be killed, or lose its connection, at any moment, and must neither lose a contract nor pay for one twice.
// Idea: a signed transaction is recorded before it leaves. The next run looks for it on chain before it sends another.
// Invariants: a contract counts as deployed when the transaction that made it has the plan's code and arguments, and the code on chain is
// the compiled one. Gas never costs more than the operator agreed to.
import {
  formatGwei,
  type Hex,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
} from 'viem'
import { abortable } from '../lib/chain/abortable.ts'
import { causesOf, shortMessageOf } from '../lib/chain/chain-error.ts'
import type { ChainReader, ChainWriter } from '../lib/chain/clients.ts'
import { waitForReceipt } from '../lib/chain/wait-for-receipt.ts'
import { Address, type Hash32 } from '../lib/codecs.ts'
import { keccak256Hex } from '../lib/digest.ts'
import { SvcError } from '../lib/svc-error.ts'
import { ask, type DeployStep, deploymentFailed, isCode } from './deploy-plan.ts'
import type { SentContract } from './deploy-progress.ts'
import type { Artifact } from './solc.ts'

const receiptTimeoutMs = 600_000

/** The dependencies of a deployment. */
export type DeployContext = {
  readonly chain: ChainWriter
  /** The highest price of a unit of gas in wei that was agreed to. */
  readonly gasPrice: bigint
  /** Keeps a transaction, before it is sent. */
  readonly record?: (sent: SentContract) => Promise<void>
  /** Blocks to wait for after a transaction; 1 when left out. */
  readonly confirmations?: number
  /** Prints progress. */
  readonly say?: (line: string) => void
  readonly signal?: AbortSignal | undefined
}

/**
 * Creates a contract, or finds the one that an earlier run has sent, and waits for its confirmations. Returns its block. Throws SvcError
 * `deployment-failed`, or `deployment-differs` for another contract than the plan's.
 */
export async function deployContract(context: DeployContext, step: DeployStep): Promise<number> {
  const { chain, confirmations = 1, say, signal } = context
  const { contract, address } = step
  const tx = step.tx ?? (await send(context, step))
  const options = { confirmations, timeoutMs: receiptTimeoutMs, signal }
  const receipt = await waitForReceipt(chain, tx, options).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw deploymentFailed(contract, shortMessageOf(error), error)
  })
  if (receipt.status !== 'success') throw deploymentFailed(contract, `transaction ${tx} reverted`)
  const created = receipt.contractAddress?.toLowerCase()
  if (created !== address) throw differs(`transaction ${tx} created ${created}, not ${address}`)
  await checkCode(context, step, tx)
  say?.(`${contract}: ${address}, block ${receipt.blockNumber}, ${receipt.gasUsed} gas`)
  return Number(receipt.blockNumber)
}

async function send(context: DeployContext, step: DeployStep): Promise<Hash32> {
  const { chain, record, say, signal } = context
  const { contract, address, nonce, data, gas } = step
  const { account, chain: known } = chain.walletClient
  const fees = await feesOf(context, contract)
  const request = { type: 'eip1559', chainId: known.id, nonce, data, gas, ...fees } as const
  const serializedTransaction = await account.signTransaction(request)
  const entry: SentContract = { contract, address, nonce, tx: keccak256Hex(serializedTransaction) }
  signal?.throwIfAborted()
  await record?.(entry)
  try {
    await abortable(chain.publicClient.sendRawTransaction({ serializedTransaction }), signal)
  } catch (error) {
    signal?.throwIfAborted()
    // The RPC may have taken it and only the response was lost. It refuses a second try as known.
    const isLost = await wasLost(chain, Address.parse(account.address), entry, signal)
    if (isLost) throw deploymentFailed(contract, shortMessageOf(error), error)
  }
  say?.(`${contract}: sent ${entry.tx}`)
  return entry.tx
}

/** Returns the present gas fees. Throws when they exceed what was agreed to. */
async function feesOf({ chain, gasPrice, signal }: DeployContext, contract: string) {
  const estimate = chain.publicClient.estimateFeesPerGas()
  const now = await ask('reading the gas price', estimate, signal)
  if (now.maxFeePerGas <= gasPrice) return now
  const [price, agreed] = [formatGwei(now.maxFeePerGas), formatGwei(gasPrice)]
  const why = `a unit of gas now costs up to ${price} gwei, and the plan says ${agreed}`
  throw deploymentFailed(contract, why)
}

/** Compares a transaction and the code that it made with the plan: the bytecode, and the arguments, which set roles, stake and links. */
async function checkCode(
  { chain: { publicClient }, signal }: DeployContext,
  { contract, artifact, data, address }: DeployStep,
  hash: Hex,
): Promise<void> {
  const reading = Promise.all([
    publicClient.getTransaction({ hash }),
    publicClient.getCode({ address }),
  ])
  const [{ input }, code] = await ask(`reading ${contract}`, reading, signal)
  if (input.toLowerCase() !== data.toLowerCase()) {
    throw differs(`transaction ${hash} has not the code and arguments of ${contract}`)
  }
  if (!isCode(code)) {
    throw behind(`the transaction ${hash}, and not the contract at ${address} that it made`)
  }
  if (!isCodeOf(artifact, code)) throw differs(`the code at ${address} is not ${contract}'s`)
}

/** Whether code on chain is an artifact's. Ignores the values of immutables. */
function isCodeOf({ deployedBytecode, immutables }: Artifact, code: Hex): boolean {
  const masked = (text: string): string =>
    immutables.reduce((result, { start, length }) => {
      const [from, to] = [2 + 2 * start, 2 + 2 * (start + length)]
      return result.slice(0, from) + '0'.repeat(to - from) + result.slice(to)
    }, text.toLowerCase())
  return masked(code) === masked(deployedBytecode)
}

/** Looks for a recorded transaction. Throws SvcError `chain-unavailable` when the chain RPC contradicts itself. */
export async function wasLost(
  { publicClient }: ChainReader,
  deployer: Hex,
  { contract, address, tx, nonce }: SentContract,
  signal?: AbortSignal,
): Promise<boolean> {
  // Only "not found" counts: an RPC that fails must not make a sent transaction look lost.
  const absent = (error: unknown) => {
    if (causesOf(error).some(isNotFound)) return undefined
    throw error
  }
  const look = async () => {
    // Read before the receipt: a transaction that is mined in between must not look lost.
    const used = await publicClient.getTransactionCount({ address: deployer, blockTag: 'latest' })
    const receipt = await publicClient.getTransactionReceipt({ hash: tx }).catch(absent)
    if (receipt !== undefined) return receipt.status !== 'success'
    if (used > nonce) {
      if (!isCode(await publicClient.getCode({ address }))) return true
      const replaced = ` If you have replaced it with another one, ${contract} is there. To give that up and start anew, remove the file of the unfinished deployment.`
      throw behind(`a contract at ${address}, and not the transaction ${tx} that made it`, replaced)
    }
    // Public RPCs do not show every pending transaction. A transaction taken for lost would be sent twice, with another nonce.
    const next = await publicClient.getTransactionCount({ address: deployer, blockTag: 'pending' })
    const pending = await publicClient.getTransaction({ hash: tx }).catch(absent)
    return pending === undefined && next <= nonce
  }
  return await ask(`looking for ${contract}`, look(), signal)
}

const isNotFound = (cause: unknown): boolean =>
  cause instanceof TransactionReceiptNotFoundError || cause instanceof TransactionNotFoundError

/** The error for a chain RPC that shows one thing and not another that belongs to it. */
const behind = (shown: string, more = ''): SvcError =>
  new SvcError('chain-unavailable', `the chain RPC shows ${shown}`, {
    hint: `Try again in a minute, or with another --rpc-url.${more}`,
    retryable: true,
  })

const differs = (what: string): SvcError =>
  new SvcError('deployment-differs', `what is deployed is not what was to be: ${what}`, {
    hint: 'Do not use these contracts. If the file of an unfinished deployment or a contract was changed, give another --out, or remove the file.',
  })
