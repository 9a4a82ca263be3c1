import type { StatementSession } from '../../lib/schemas/statements.ts'

/*
 * Problem: two daemons run with one wallet, because a folder was copied or a machine was replaced while the old one still
 * ran. Both would take the same assignments and sign different answers to them.
 *
 * Idea: each start of a daemon opens a run, named by the random session key that it attests. Only the newest run counts.
 * It has the seats of the one before, so that a killed daemon goes on. A superseded run that signs another request shows
 * that two daemons are alive. When two runs have shown that within ten minutes, the daemons supersede one another, as
 * under supervisors that start them again: then no run counts for ten minutes, so that both stop.
 *
 * Invariants:
 * - At most one run counts, and one that has ended never counts again.
 * - A daemon that is killed and started again any number of times never leads to a conflict: its former process has signed
 *   nothing later than the request that opened the next run. Both times are of one clock, that of the node's machine.
 *
 * Failure cases: requests that arrive late (they were signed before, so they show nothing; an attestation answers an older
 * challenge); a daemon that ends at a
 * refusal in the very second in which the next run attested (a later round shows it); two machines whose clocks differ
 * (of the two directions in which runs supersede one another, one still shows it, so that a conflict comes later).
 */

/** A session key that a wallet granted. */
export type RunKey = {
  /** RFC 7638 thumbprint of the session key: the run's name. */
  readonly thumbprint: string
  readonly session: StatementSession
}

/** A run that another one superseded; times in Unix seconds by the clock of the signer. */
type FormerRun = RunKey & {
  /** When the run after it was opened. */
  readonly endedAt: number
  /** When it was first seen to be alive after that, in milliseconds by the clock of the ICL. */
  readonly seenAliveAt?: number
}

/** What is known of a node's runs besides the current one's key. */
export type Runs = {
  /** The latest ones, oldest first. */
  readonly former: readonly FormerRun[]
  /** Until then no run counts; milliseconds. */
  readonly conflictUntil?: number
  /** When the ICL issued the challenge with which the current run was opened; milliseconds. */
  readonly challengedAt?: number
}

/** Why a run does not count. */
export type RunRefusal = 'run-superseded' | 'run-conflict'

/** When a run asks to be opened. */
export type RunOpening = {
  /** Unix seconds, by the clock of the signer. */
  readonly signedAt: number
  /** When the ICL issued the challenge that it answers; milliseconds. */
  readonly challengedAt: number
}

const mostFormer = 8
/** An attestation may be that much slower than the one after it. */
const mostOvertakenMs = 10 * 60_000
/** Within this time two superseded runs have to be seen alive, and for this time no run counts after that. */
export const conflictMs = 10 * 60_000

/** The runs of a node that has opened its first one. */
export const noFormerRuns: Runs = { former: [] }

const isInConflict = ({ conflictUntil = 0 }: Runs, now: number): boolean => conflictUntil > now

/**
 * The runs after one attests; a run that attests again changes nothing. `overtaken`: it answers an older challenge than the
 * current run did, as the attestation of a killed daemon does that a slow replica finishes after the next start. A daemon that is
 * alive attests again.
 */
export function openRun(
  runs: Runs,
  current: RunKey,
  { thumbprint }: Pick<RunKey, 'thumbprint'>,
  { signedAt, challengedAt }: RunOpening,
  now: number,
): Runs | RunRefusal | 'overtaken' {
  if (isInConflict(runs, now)) return 'run-conflict'
  if (thumbprint === current.thumbprint) return runs
  if (runs.former.some((run) => run.thumbprint === thumbprint)) return 'run-superseded'
  const sooner = (runs.challengedAt ?? challengedAt) - challengedAt
  if (sooner > 0 && sooner <= mostOvertakenMs) return 'overtaken'
  const { thumbprint: name, session } = current
  const former = [...runs.former, { thumbprint: name, session, endedAt: signedAt }]
  return { ...runs, former: former.slice(-mostFormer), challengedAt }
}

/** Why a known run does not count now; undefined when it does. */
export const runRefusal = (
  runs: Runs,
  current: Pick<RunKey, 'thumbprint'>,
  thumbprint: string,
  now: number,
): RunRefusal | undefined => {
  if (isInConflict(runs, now)) return 'run-conflict'
  return thumbprint === current.thumbprint ? undefined : 'run-superseded'
}

/** The runs after a request that a superseded run signed at `signedAt`; the same object when it shows nothing new. */
export function seeFormer(runs: Runs, thumbprint: string, signedAt: number, now: number): Runs {
  const seen = runs.former.find((run) => run.thumbprint === thumbprint)
  if (!seen || seen.seenAliveAt !== undefined || signedAt <= seen.endedAt) return runs
  const former = runs.former.map((run) => (run === seen ? { ...run, seenAliveAt: now } : run))
  const recent = former.filter(
    ({ seenAliveAt }) => seenAliveAt !== undefined && now - seenAliveAt < conflictMs,
  )
  return { ...runs, former, ...(recent.length > 1 && { conflictUntil: now + conflictMs }) }
}
