import type { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { NodeChain } from '../chain/chain.ts'
import type { Log } from '../log.ts'

/** How often the node checks its balance. */
export const fundsPeriodMs = 60_000

/** Watches whether the wallet can pay for an answer: without gas money the node takes no work. Calls `onChange` when that changes. */
export function createFundsWatch(options: {
  readonly address: Address
  readonly chain: Pick<NodeChain, 'canPay'>
  readonly log: Log
  readonly onChange: () => void
}) {
  const { address, chain, log, onChange } = options
  let canPay = true
  const change = (to: boolean) => {
    if (canPay === to) return
    canPay = to
    if (to) log.info('The wallet can pay for answers again: taking work')
    else
      log.error(`Taking no work: the wallet cannot pay for an answer. Send gas money to ${address}`)
    onChange()
  }
  return {
    canPay: () => canPay,
    /** One pass: reads the balance. Throws chain errors. */
    pass: async (signal: AbortSignal): Promise<void> => change(await chain.canPay(signal)),
    /** Wraps the chain, so that a delivery without gas money is noticed at once. */
    watched: (watched: NodeChain): NodeChain => ({
      ...watched,
      storeOutputKey: (key, signal) =>
        watched.storeOutputKey(key, signal).catch((error: unknown) => {
          if (error instanceof SvcError && error.code === 'chain-wallet-empty') change(false)
          throw error
        }),
    }),
  }
}
