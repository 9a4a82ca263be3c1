import { Eip1559FeesNotSupportedError, type Hex } from 'viem'
import { causesOf } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'

/** What a transaction pays for its gas, in wei. */
export type Fees =
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly gasPrice: bigint }

/** What a unit of gas may cost at most. */
export const feeOf = (fees: Fees): bigint =>
  'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas

/** Returns the chain's present fees, at most `mostWei` for a unit of gas. */
export async function currentFees({ publicClient }: ChainWriter, mostWei?: bigint): Promise<Fees> {
  const capped = (wei: bigint) => (mostWei === undefined ? wei : lesser(wei, mostWei))
  try {
    const [{ baseFeePerGas }, tip] = await Promise.all([
      publicClient.getBlock(),
      publicClient.estimateMaxPriorityFeePerGas(),
    ])
    if (baseFeePerGas === null) throw new Eip1559FeesNotSupportedError()
    // A fifth more, as the base fee may rise until the transaction is in a block.
    const fee = (baseFeePerGas * 12n) / 10n + tip
    return { maxFeePerGas: capped(fee), maxPriorityFeePerGas: capped(tip) }
  } catch (error) {
    const isOld = causesOf(error).some((cause) => cause instanceof Eip1559FeesNotSupportedError)
    if (!isOld) throw error
    return { gasPrice: capped(await publicClient.getGasPrice()) }
  }
}

const mostTimesCurrent = 10n

// Chains accept a replacement that pays an eighth more. Half more gets there within a lease.
const leastRaise = (wei: bigint): bigint => (wei * 9n) / 8n + 1n
const raised = (wei: bigint): bigint => (wei * 3n) / 2n + 1n

/** The lower of two limits in wei, of which each may be absent. */
export const lowerLimit = (a: bigint | undefined, b: bigint | undefined): bigint | undefined =>
  a === undefined || b === undefined ? (a ?? b) : lesser(a, b)

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** Returns fees that replace a transaction with `fees`; undefined when they would be above `mostWei`, else ten times the chain's present fees. */
export function bumpedFees(fees: Fees, current: Fees, mostWei?: bigint): Fees | undefined {
  const most = mostWei ?? feeOf(current) * mostTimesCurrent
  const fee = lesser(greater(raised(feeOf(fees)), feeOf(current)), most)
  if (fee < leastRaise(feeOf(fees))) return undefined
  if ('gasPrice' in fees || 'gasPrice' in current) return { gasPrice: fee }
  const tip = greater(raised(fees.maxPriorityFeePerGas), current.maxPriorityFeePerGas)
  return { maxFeePerGas: fee, maxPriorityFeePerGas: lesser(tip, fee) }
}

/** A signed transaction, ready to be sent. */
export const signWith = (
  { walletClient, publicClient }: ChainWriter,
  request: {
    readonly to: Hex
    readonly data: Hex
    readonly gas: bigint
    readonly nonce: number
    /** Wei to send along; none when left out. */
    readonly value?: bigint
  },
  fees: Fees,
): Promise<Hex> =>
  'gasPrice' in fees
    ? walletClient.account.signTransaction({
        ...request,
        chainId: publicClient.chain.id,
        type: 'legacy',
        gasPrice: fees.gasPrice,
      })
    : walletClient.account.signTransaction({
        ...request,
        chainId: publicClient.chain.id,
        type: 'eip1559',
        ...fees,
      })
