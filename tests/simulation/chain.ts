import type { Activation, ChainResult } from '../../icl/chain/chain.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Hash32, JobId } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { aHash } from '../branded.ts'
import { createFakeChain, type FakeChain } from '../icl/fake-chain.ts'
import type { Dice } from './dice.ts'

const confirmedMs = 4_000

/** How a chain behaves. */
export type ChainHabits = {
  /** From sending to being in a block, in milliseconds. */
  readonly minedMs: readonly [number, number]
  /** How likely it is that what was asked or sent is not answered. */
  readonly lostAnswers: number
}

export const usualChainHabits: ChainHabits = { minedMs: [200, 3_000], lostAnswers: 0.08 }

type Mined = { readonly tx: Hash32; readonly at: number }

/** A chain that takes its time and loses some answers; its contracts keep to what the real ones promise. */
export type SimulatedChain = FakeChain & {
  /** How often each result was sent; more than once is allowed, and harmless. */
  readonly sent: Map<string, number>
  /** How often each reader was given each key; more than once would be a second grant. */
  readonly granted: Map<string, number>
  readonly conflicts: string[]
  /** How often the RPC endpoint answers that it is asked too often. */
  throttled: number
  /** How likely answers get lost now. */
  lostAnswers: number
  /** Hears of every result that comes to stand on chain. */
  onCommitted: (result: ChainResult) => void
  /** Waits until what is sent is in a block, then makes `change`. */
  mined(signal: AbortSignal | undefined, change: () => void): Promise<void>
  /** The receipt hash that a transaction put on chain for a job. */
  receiptHashIn(tx: Hash32, jobId: JobId): Hash32 | undefined
  /** Takes the results out that are not deep enough to stay, and says how many that were. */
  reorganise(): number
}

/** Makes a chain without blocks to wait for, but with a delay before what is sent is there. */
export function createSimulatedChain(
  clock: Clock,
  dice: Dice,
  { minedMs, lostAnswers }: ChainHabits,
): SimulatedChain {
  const base = createFakeChain()
  const minings = new Map<string, Mined>()
  let transactions = 0
  const up = () => {
    if (base.down) throw base.down
    if (chain.throttled > 0 && dice.chance(chain.throttled)) throw tooOften()
  }
  const chain: SimulatedChain = Object.assign(base, throttling(base, up), {
    sent: new Map<string, number>(),
    granted: new Map<string, number>(),
    conflicts: [],
    throttled: 0,
    lostAnswers,
    onCommitted: () => {},
    mined: async (signal: AbortSignal | undefined, change: () => void) => {
      up()
      await clock.sleep(dice.between(...minedMs))
      change()
      signal?.throwIfAborted()
      // What was sent is there, but its sender does not hear of it.
      if (dice.chance(chain.lostAnswers)) throw away()
      await clock.sleep(dice.between(1, 300))
      signal?.throwIfAborted()
    },
    activate: async (activation, signal) => {
      let outcome: Awaited<ReturnType<FakeChain['activate']>> = 'ended'
      await chain.mined(signal, () => {
        outcome = activate(chain, activation)
      })
      return outcome
    },
    commitResults: async (results: readonly ChainResult[], signal) => {
      const tx = hashOf(++transactions)
      await chain.mined(signal, () => {
        for (const result of results) commit(chain, minings, result, { tx, at: clock.now() })
      })
      return tx
    },
    findCommitment: async (result) => {
      up()
      if (dice.chance(chain.lostAnswers)) throw away()
      const mining = minings.get(result.jobId)
      if (!mining) return { state: 'absent' }
      const isDeep = clock.now() - mining.at >= confirmedMs
      return isDeep ? { state: 'deep', tx: mining.tx } : { state: 'shallow' }
    },
    receiptHashIn: (tx, jobId) =>
      minings.get(jobId)?.tx === tx
        ? base.committed.find((result) => result.jobId === jobId)?.receiptHash
        : undefined,
    reorganise: () => {
      const young = [...minings].filter(([, { at }]) => clock.now() - at < confirmedMs)
      for (const [id] of young) {
        minings.delete(id)
        base.committed.splice(
          base.committed.findIndex(({ jobId }) => jobId === id),
          1,
        )
      }
      return young.length
    },
  } satisfies Partial<SimulatedChain>)
  return chain
}

function throttling(base: FakeChain, up: () => void): Partial<FakeChain> {
  const { latestBlock, nodesOf, outputKeyOf, isAllowed, storedKeyAt, listOf } = base
  const through =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A) => {
      up()
      return read(...args)
    }
  return {
    latestBlock: through(latestBlock),
    nodesOf: through(nodesOf),
    outputKeyOf: through(outputKeyOf),
    isAllowed: through(isAllowed),
    storedKeyAt: through(storedKeyAt),
    listOf: through(listOf),
  }
}

/** As PromptKeyStore does it: a member of the committed list, once. */
function activate(chain: SimulatedChain, activation: Activation): 'granted' | 'ended' {
  const { high, low, jobId, until, members, position } = activation
  const list = chain.lists.get(`${high}:${low}`)
  const commitment = listCommitment({ jobId, activator: chain.coordinator, until, list: members })
  const reader = members[position]
  if (list?.commitment !== commitment || list.ended || reader === undefined) return 'ended'
  const bit = 1 << position
  if ((list.used & bit) !== 0) return 'granted'
  chain.lists.set(`${high}:${low}`, { ...list, used: list.used | bit })
  chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
  count(chain.granted, `${high}:${low}:${reader}`)
  return 'granted'
}

const count = (counts: Map<string, number>, key: string) =>
  counts.set(key, (counts.get(key) ?? 0) + 1)

function commit(
  chain: SimulatedChain,
  minings: Map<string, Mined>,
  result: ChainResult,
  mining: Mined,
): void {
  count(chain.sent, result.jobId)
  const known = chain.committed.find(({ jobId }) => jobId === result.jobId)
  if (!known) {
    chain.committed.push(result)
    minings.set(result.jobId, mining)
    chain.onCommitted(result)
  } else if (known.receiptHash !== result.receiptHash) chain.conflicts.push(result.jobId)
}

const hashOf = (number: number): Hash32 => aHash(`0x${number.toString(16).padStart(64, '0')}`)

const unavailable = (message: string): SvcError =>
  new SvcError('chain-unavailable', message, { hint: '', retryable: true })

const away = () => unavailable('the chain did not answer')
const tooOften = () => unavailable('the RPC endpoint answered 429')

/** Why the chain cannot be asked while its RPC endpoint is away. */
export const chainAway = () => unavailable('the RPC endpoint cannot be reached')
