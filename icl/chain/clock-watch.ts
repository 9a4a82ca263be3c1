import type { Clock } from '../../lib/clock.ts'
import { every } from '../async/repeat.ts'
import type { Log } from '../telemetry/log.ts'
import type { Chain } from './chain.ts'

/**
 * Checks the machine's clock against blocks, the only other clock that the ICL sees. A block from the future shows that the machine's clock
 * is behind. An old latest block shows nothing, since a chain may pause. But a block that came since the last look and is older than that
 * look shows that the machine's clock is ahead, or that the RPC has fallen behind.
 */
export type ClockWatch = ReturnType<typeof createClockWatch>

const lookMs = 10_000
/** Timestamps of blocks may be some seconds ahead, and blocks come late. */
const toleranceMs = 120_000
const noticedStepMs = 2_000

type Watched = {
  readonly clock: Clock
  readonly chain: Pick<Chain, 'latestBlock'>
  readonly log: Log
  /** How far the machine's clock is ahead of the ICL's, in milliseconds. */
  readonly aheadMs: () => number
}

/** Creates a check that knows nothing until `keep` runs. */
export function createClockWatch({ clock, chain, log, aheadMs }: Watched) {
  let wrong: string | undefined
  let last: { readonly number: bigint; readonly at: number } | undefined
  let hadStepped = false

  const compare = async () => {
    // Another check reports a chain that does not answer.
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
    /** Returns the faults of the clock, as texts for the operator. */
    faults: (): readonly string[] => [wrong, stepFault()].filter((fault) => fault !== undefined),
    /** Looks every 10 s until the signal aborts, and logs what it finds. */
    keep: (signal: AbortSignal) =>
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
