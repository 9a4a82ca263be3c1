import type { EncryptedInput } from '../../lib/chain/encrypted-input.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Coprocessor } from '../../lib/coprocessor/coprocessor.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { denied } from '../node/fakes.ts'
import type { SimulatedChain } from './chain.ts'
import type { Dice } from './dice.ts'

/** A coprocessor for many wallets: it gives a half to those alone whom the chain lets read it. */
export type SimulatedCoprocessor = {
  /** How likely a call fails for now. */
  failures: number
  /** Every half that it was ever given. */
  readonly halves: readonly bigint[]
  /** Hears of every half that is given out. */
  onGiven: (handle: bigint, reader: Address) => void
  /** Keeps an encrypted half under a handle of its own, as PromptKeyStore does. */
  keep(input: EncryptedInput): bigint
  /** The coprocessor as one wallet has it. */
  of(account: Address, clock: Clock, dice: Dice): Coprocessor
}

const firstHandle = 2n ** 128n

/** Makes a coprocessor beside a chain. */
export function createSimulatedCoprocessor(
  chain: Pick<SimulatedChain, 'readers'>,
): SimulatedCoprocessor {
  const inputs = new Map<bigint, bigint>()
  const kept = new Map<bigint, bigint>()
  const halves: bigint[] = []
  let next = firstHandle
  const coprocessor: SimulatedCoprocessor = {
    failures: 0,
    halves,
    onGiven: () => {},
    keep: ({ ctHash }) => {
      const half = inputs.get(ctHash)
      if (half === undefined) throw new TypeError('This half was never encrypted')
      const handle = next++
      kept.set(handle, half)
      return handle
    },
    of: (account, clock, dice) => {
      const work = async (signal: AbortSignal | undefined, longestMs: number) => {
        await clock.sleep(dice.between(20, longestMs), signal)
        if (dice.chance(coprocessor.failures)) throw unavailable()
      }
      const input = (half: bigint): EncryptedInput => {
        const ctHash = next++
        inputs.set(ctHash, half)
        halves.push(half)
        return { ctHash, securityZone: 0, utype: 6, signature: '0x00' }
      }
      return {
        encrypt: async (high, low, { signal } = {}) => {
          await work(signal, 3_000)
          return { high: input(high), low: input(low) }
        },
        decrypt: async (handle, { signal } = {}) => {
          await work(signal, 600)
          const half = kept.get(handle)
          if (half === undefined || !chain.readers.has(`${handle}:${account}`)) throw denied()
          coprocessor.onGiven(handle, account)
          return half
        },
      }
    },
  }
  return coprocessor
}

const unavailable = () =>
  new SvcError('coprocessor-unavailable', 'CoFHE cannot be reached', { hint: '', retryable: true })
