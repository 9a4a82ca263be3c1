import type { Clock } from '../../lib/clock.ts'
import { every } from '../async/repeat.ts'
import type { Log } from '../telemetry/log.ts'
import type { Chain } from './chain.ts'

/**
 * Whether the machine's clock can be right. Blocks are the only other clock that the ICL sees: one from the future shows that the
 * machine's is behind. That the latest block is old shows nothing, since a chain may rest; but a block that came since the last look
 * and is older than that look shows that the machine's clock is ahead, or that the RPC has fallen behind.
 */
export type ClockWatch = {
  /** What is wrong with the clock, in words for the operator; empty when nothing is. */
  faults(): readonly string[]
  /** Looks every 10 s until the signal aborts, and logs what it finds. */
  keep(signal: AbortSignal): Promise<void>
}

const lookMs = 10_000
/** Blocks are stamped up to some seconds ahead, and come late. */
const toleranceMs = 120_000
const noticedStepMs = 2_000

type Watched = {
  readonly clock: Clock
  readonly chain: Pick<Chain, 'latestBlock'>
  readonly log: Log
  /** How far the machine's clock is ahead of the ICL's, in milliseconds. */
  readonly aheadMs: () => number
}

/** Makes a watch over the clock; it knows nothing until it is kept. */
export function createClockWatch({ clock, chain, log, aheadMs }: Watched): ClockWatch {
  let wrong: string | undefined
  let last: { readonly number: bigint; readonly at: number } | undefined
  let hadStepped = false

  const compare = async () => {
    // A chain that does not answer is a reason of its own.
    const block = await chain.latestBlock().catch(() => undefined)
    if (!block) return
    const now = clock.now()
    const stampedAt = block.timestamp * 1000
    const before = wrong
    if (stampedAt > now + toleranceMs) wrong = behind(now, stampedAt)
    else if (last && block.number > last.number) {
      wrong = stampedAt < last.at - toleranceMs ? ahead(last.at, stampedAt) : undefined
    } else if (wrong?.startsWith(behindText)) wrong = undefined
    last = { number: block.number, at: now }
    if (wrong !== undefined && before === undefined) log.error(wrong)
    if (wrong === undefined && before !== undefined) log.info("The machine's clock is right again")
  }
  const stepFault = () => {
    const ms = aheadMs()
    return Math.abs(ms) < noticedStepMs ? undefined : stepped(ms)
  }
  return {
    faults: () => [wrong, stepFault()].filter((fault) => fault !== undefined),
    keep: (signal) =>
      every({ clock, log }, lookMs, signal, "checking the machine's clock", async () => {
        const step = stepFault()
        if (step !== undefined && !hadStepped) log.warn(step)
        hadStepped = step !== undefined
        await compare()
      }),
  }
}

// biome-ignore lint/style/noRestrictedGlobals: not the time now, but a given one in its standard form
const text = (ms: number): string => new Date(ms).toISOString()
const remedy = "correct the machine's clock (NTP)"
const behindText = "the machine's clock is behind"

const behind = (now: number, stampedAt: number): string =>
  `${behindText}: it shows ${text(now)}, and the latest block is of ${text(stampedAt)}; ${remedy}`

const ahead = (lookedAt: number, stampedAt: number): string =>
  `the machine's clock is ahead, or the chain RPC has fallen behind: a block that came after ${text(lookedAt)} is of ${text(stampedAt)}; ${remedy}`

const stepped = (ms: number): string =>
  `the machine's clock was set ${Math.round(Math.abs(ms) / 1000)} s ${ms > 0 ? 'ahead' : 'back'}: the ICL follows it slowly; if it is right now, a restart takes it over at once, else ${remedy}`
