import { feeOf } from '../../lib/chain/fees.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { toSeconds } from '../../lib/time.ts'
import { gweiText } from '../chain/gwei-text.ts'
import { createRegistryReader, type RegistryEndpoint } from '../chain/registry.ts'
import { openTransactions } from '../journal/transactions.ts'
import { durationText } from './amounts.ts'
import type { CommandContext } from './context.ts'

/** A transaction that is in no block yet. What is undefined is not on record here: another program sent it. */
export type PendingTransaction = {
  readonly nonce: number
  readonly call: string
  readonly age_seconds: number | undefined
  /** The most that a unit of gas may cost, in wei. */
  readonly fee_wei: string | undefined
  /** Whether an empty transfer takes its place. */
  readonly cancelled: boolean
}

/** From this age on, a transaction is a trouble: its sender has raised its fees several times by then. */
const stuckSeconds = 120
const mostUnknown = 100

/** Returns the transactions of the wallet that are in no block yet: those on record, and those that only the RPC knows. Throws chain errors. */
export async function pendingTransactions(
  configPath: string,
  place: RegistryEndpoint,
  address: Address,
  { clock }: Pick<CommandContext, 'clock'>,
  signal?: AbortSignal,
): Promise<readonly PendingTransaction[]> {
  const { used, sent } = await createRegistryReader(place).noncesOf(address, signal)
  const store = openTransactions(configPath, { chainId: place.chainId, address })
  const kept = (await store.all())
    .filter(({ nonce }) => nonce >= used)
    .map(({ nonce, call, firstSentAt, fees, isGivenUp }) => ({
      ...{ nonce, call, fee_wei: String(feeOf(fees)), cancelled: isGivenUp },
      age_seconds: Math.max(0, unixSeconds(clock) - toSeconds(firstSentAt)),
    }))
  const others = Array.from(
    { length: Math.min(Math.max(0, sent - used), mostUnknown) },
    (_, at) => used + at,
  )
    .filter((nonce) => !kept.some((one) => one.nonce === nonce))
    .map((nonce) => ({
      nonce,
      call: 'unknown',
      age_seconds: undefined,
      fee_wei: undefined,
      cancelled: false,
    }))
  return [...kept, ...others].toSorted((a, b) => a.nonce - b.nonce)
}

/** Describes a transaction to the operator. */
export const pendingText = ({
  nonce,
  call,
  age_seconds,
  fee_wei,
  cancelled,
}: PendingTransaction): string =>
  age_seconds === undefined || fee_wei === undefined
    ? `nonce ${nonce}, of another program`
    : `nonce ${nonce}, ${call}${cancelled ? ' (being cancelled)' : ''}, for ${durationText(age_seconds)}, fee up to ${gweiText(BigInt(fee_wei))}`

/** What to do about transactions that have waited too long; undefined when there is none. */
export function stuckRemedy(pending: readonly PendingTransaction[]): string | undefined {
  const [stuck] = pending
  if (stuck === undefined || (stuck.age_seconds ?? stuckSeconds) < stuckSeconds) return undefined
  return `\`svc-node run\` raises its fee by itself. \`svc-node transactions --replace ${stuck.nonce}\` does it now, and \`--cancel ${stuck.nonce}\` puts an empty transfer in its place.`
}
