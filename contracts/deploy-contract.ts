import {
  formatGwei,
  type Hex,
  type LocalAccount,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
} from 'viem'
import { abortable } from '../lib/chain/abortable.ts'
import { causesOf, shortMessageOf } from '../lib/chain/chain-error.ts'
import type { ChainReader, ChainWriter } from '../lib/chain/clients.ts'
import { waitForReceipt } from '../lib/chain/wait-for-receipt.ts'
import { Address } from '../lib/codecs.ts'
import { keccak256Hex } from '../lib/digest.ts'
import { SvcError } from '../lib/svc-error.ts'
import { ask, type PlannedContract } from './deploy-plan.ts'
import type { DeployProgress, SentContract } from './deploy-progress.ts'

const receiptTimeoutMs = 600_000

/** The address of a contract, and the block that created it. */
export type Deployed = { readonly address: Address; readonly block: number }

/** The dependencies of a deployment. */
export type DeployContext = {
  readonly chain: ChainWriter
  readonly account: LocalAccount
  readonly progress: DeployProgress
  readonly confirmations: number
  /** The highest price of a unit of gas that the operator agreed to. */
  readonly maxGasPrice: bigint
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Creates one contract and waits for its confirmations. Throws SvcError `deployment-failed`. */
export async function deployContract(
  context: DeployContext,
  planned: PlannedContract,
): Promise<Deployed> {
  const { chain, account, progress, say, signal } = context
  const { contract, address, nonce, data, gas } = planned
  const deployer = Address.parse(account.address)
  const { publicClient, walletClient } = chain
  const fees = await feesOf(context, contract)
  const { chain: known } = walletClient
  const request = { type: 'eip1559', chainId: known.id, nonce, data, gas, ...fees } as const
  const signed = await account.signTransaction(request)
  const entry: SentContract = { contract, address, nonce, tx: keccak256Hex(signed) }
  signal.throwIfAborted()
  await progress.record(entry)
  try {
    await abortable(publicClient.sendRawTransaction({ serializedTransaction: signed }), signal)
  } catch (error) {
    signal.throwIfAborted()
    // The RPC may have taken it and only the response was lost. It refuses a second try as known.
    const fate = await fateOf(chain, deployer, entry, signal)
    if (fate === 'lost') throw failed(contract, shortMessageOf(error), error)
  }
  say(`${contract}: sent ${entry.tx}`)
  return await settled(context, entry)
}

/** Waits until a sent transaction has its confirmations. Throws SvcError `deployment-failed`. */
export async function settled(context: DeployContext, sent: SentContract): Promise<Deployed> {
  const { chain, confirmations, say, signal } = context
  const { contract, tx } = sent
  const options = { confirmations, timeoutMs: receiptTimeoutMs, signal }
  const receipt = await waitForReceipt(chain, tx, options).catch((error: unknown) => {
    signal.throwIfAborted()
    throw failed(contract, shortMessageOf(error), error)
  })
  if (receipt.status !== 'success' || receipt.contractAddress == null) {
    throw failed(contract, `transaction ${tx} reverted`)
  }
  const address = Address.parse(receipt.contractAddress)
  say(`${contract}: ${address}, block ${receipt.blockNumber}, ${receipt.gasUsed} gas`)
  return { address, block: Number(receipt.blockNumber) }
}

/** Looks for a recorded transaction. Throws SvcError `chain-unavailable` when the chain RPC contradicts itself. */
export async function fateOf(
  { publicClient }: ChainReader,
  deployer: Hex,
  { contract, address, tx, nonce }: SentContract,
  signal: AbortSignal,
): Promise<'in-a-block' | 'waiting' | 'lost'> {
  // Only "not found" counts: an RPC that fails must not make a sent transaction look lost.
  const absent = (error: unknown) => {
    if (causesOf(error).some(isNotFound)) return undefined
    throw error
  }
  const look = async () => {
    // Read before the receipt: a transaction that is mined in between must not look lost.
    const used = await publicClient.getTransactionCount({ address: deployer, blockTag: 'latest' })
    const receipt = await publicClient.getTransactionReceipt({ hash: tx }).catch(absent)
    if (receipt?.status === 'success') return 'in-a-block'
    if (receipt !== undefined) return 'lost'
    if (used > nonce) {
      const code = await publicClient.getCode({ address })
      if (code !== undefined && code !== '0x') throw unseen(contract, address, tx)
      return 'lost'
    }
    // Public RPCs do not show every pending transaction. A transaction taken for lost would be sent twice, with another nonce.
    const next = await publicClient.getTransactionCount({ address: deployer, blockTag: 'pending' })
    const pending = await publicClient.getTransaction({ hash: tx }).catch(absent)
    return pending !== undefined || next > nonce ? 'waiting' : 'lost'
  }
  return await ask(`looking for ${contract}`, look(), signal)
}

/** Returns the present gas fees. Throws when they exceed what the operator agreed to. */
async function feesOf({ chain, maxGasPrice, signal }: DeployContext, contract: string) {
  const estimate = chain.publicClient.estimateFeesPerGas()
  const now = await ask('reading the gas price', estimate, signal)
  if (now.maxFeePerGas <= maxGasPrice) return now
  const [price, agreed] = [formatGwei(now.maxFeePerGas), formatGwei(maxGasPrice)]
  throw failed(contract, `a unit of gas now costs up to ${price} gwei, and the plan says ${agreed}`)
}

const isNotFound = (cause: unknown): boolean =>
  cause instanceof TransactionReceiptNotFoundError || cause instanceof TransactionNotFoundError

const unseen = (contract: string, address: Hex, tx: Hex): SvcError =>
  new SvcError(
    'chain-unavailable',
    `the chain RPC shows a contract at ${address}, and not the transaction ${tx} that made it`,
    {
      hint: `Try again in a minute, or with another --rpc-url. If you have replaced it with another one, ${contract} is there. To give that up and start anew, remove the file of the unfinished deployment.`,
      retryable: true,
    },
  )

const failed = (contract: string, why: string, cause?: unknown): SvcError =>
  new SvcError('deployment-failed', `deploying ${contract} failed: ${why}`, {
    hint: 'What is deployed is written down: start again with the same options to continue.',
    retryable: true,
    cause,
  })
