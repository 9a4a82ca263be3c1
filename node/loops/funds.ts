import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { fewAnswers, type NodeChain } from '../chain/chain.ts'
import type { Log } from '../log.ts'

/** How often the node checks its balance. */
export const fundsPeriodMs = 60_000

const warnAgainMs = 3_600_000

/** Watches for how many answers the wallet can pay: without gas money the node takes no work. Warns each hour. Calls `onChange` when it stops or begins to take work. */
export function createFundsWatch(options: {
  readonly address: Address
  readonly chain: Pick<NodeChain, 'answersPaidFor'>
  readonly clock: Clock
  readonly log: Log
  readonly onChange: () => void
}) {
  const { address, chain, clock, log, onChange } = options
  let canPay = true
  let warnedAt: MonotonicMs | undefined
  const warn = (paidFor: number) => {
    if (elapsedSince(clock, warnedAt) < warnAgainMs) return
    warnedAt = clock.monotonic()
    const send = `Send gas money to ${address}`
    if (paidFor === 0) log.error(`Taking no work: the wallet cannot pay for an answer. ${send}`)
    else log.warning(`The wallet can pay for ${paidFor} more answer(s). ${send}`)
  }
  const see = (paidFor: number) => {
    const could = canPay
    canPay = paidFor > 0
    if (could !== canPay) warnedAt = undefined
    if (canPay && !could) log.info('The wallet can pay for answers again: taking work')
    if (paidFor < fewAnswers) warn(paidFor)
    if (could !== canPay) onChange()
  }
  return {
    canPay: () => canPay,
    /** One pass: reads the balance. Throws chain errors. */
    pass: async (signal: AbortSignal): Promise<void> => see(await chain.answersPaidFor(signal)),
    /** Wraps the chain, so that a delivery without gas money is noticed at once. */
    watched: (watched: NodeChain): NodeChain => ({
      ...watched,
      storeOutputKey: (key, signal) =>
        watched.storeOutputKey(key, signal).catch((error: unknown) => {
          if (error instanceof SvcError && error.code === 'chain-wallet-empty') see(0)
          throw error
        }),
    }),
  }
}
