import { Eip1559FeesNotSupportedError, type Hex } from 'viem'
import { causesOf } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'

/** What a transaction pays for its gas, in wei. */
export type Fees =
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly gasPrice: bigint }

/** Returns the chain's present fees. */
export async function currentFees({ publicClient }: ChainWriter): Promise<Fees> {
  try {
    const { maxFeePerGas, maxPriorityFeePerGas } = await publicClient.estimateFeesPerGas()
    return { maxFeePerGas, maxPriorityFeePerGas }
  } catch (error) {
    const isOld = causesOf(error).some((cause) => cause instanceof Eip1559FeesNotSupportedError)
    if (!isOld) throw error
    return { gasPrice: await publicClient.getGasPrice() }
  }
}

const mostTimesCurrent = 10n

// Chains accept a replacement that pays an eighth more.
const raised = (wei: bigint): bigint => (wei * 9n) / 8n + 1n
const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Returns fees that replace a transaction with `fees`; undefined when they would be far above the chain's present fees. */
export function bumpedFees(fees: Fees, current: Fees): Fees | undefined {
  if ('gasPrice' in fees || 'gasPrice' in current) {
    const asked = 'gasPrice' in current ? current.gasPrice : current.maxFeePerGas
    const before = 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
    const gasPrice = greater(raised(before), asked)
    return gasPrice > asked * mostTimesCurrent ? undefined : { gasPrice }
  }
  const maxFeePerGas = greater(raised(fees.maxFeePerGas), current.maxFeePerGas)
  if (maxFeePerGas > current.maxFeePerGas * mostTimesCurrent) return undefined
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: greater(raised(fees.maxPriorityFeePerGas), current.maxPriorityFeePerGas),
  }
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
