import type { StatementSession } from '../../lib/schemas/statements.ts'

/*
 * Problem: two daemons run with one wallet, because a folder was copied, or a machine was replaced while the old one still
 * ran. Both would take the same assignments and sign different answers to them.
 *
 * Idea: each start of a daemon opens a run, named by the random session key that it attests. Only the newest run counts. It
 * takes over the seats of the run before it. A superseded run that signs another request shows that two daemons are alive.
 * When two runs show that within ten minutes, supervisors restart the daemons against one another. Then no run counts for ten
 * minutes, so that both stop.
 *
 * Invariants:
 * - At most one run counts, and a superseded run never counts again.
 * - A daemon that is killed and restarted any number of times never causes a conflict: its former process signed
 *   nothing after the request that opened the next run. Both times are by the clock of the node's machine.
 *
 * Failure cases: a request arrives late (it was signed before, so it shows nothing, and a late attestation answers an older
 * challenge). A daemon stops in the second in which the next run attested (a later round shows it). The clocks of two machines
 * differ (one of the two still shows that it is alive, so the conflict is found later).
 */
/** A session key that a wallet granted. */
export type RunKey = {
  /** RFC 7638 thumbprint of the session key: the run's name. */
  readonly thumbprint: string
  readonly session: StatementSession
}

/** A superseded run; times in Unix seconds by the clock of the signer. */
type FormerRun = RunKey & {
  /** When the next run was opened. */
  readonly endedAt: number
  /** When the ICL first saw it alive after that, in milliseconds by the clock of the ICL. */
  readonly seenAliveAt?: number
}

/** What the ICL knows of a node's runs besides the current run's key. */
export type Runs = {
  /** The latest ones, oldest first. */
  readonly former: readonly FormerRun[]
  /** Until this time no run counts; milliseconds. */
  readonly conflictUntil?: number
  /** When the ICL issued the challenge with which the current run was opened; milliseconds. */
  readonly challengedAt?: number
}

/** Why a run does not count. */
export type RunRefusal = 'run-superseded' | 'run-conflict'

/** The times of a request to open a run. */
export type RunOpening = {
  /** Unix seconds, by the clock of the signer. */
  readonly signedAt: number
  /** When the ICL issued the challenge that it answers; milliseconds. */
  readonly challengedAt: number
}

const mostFormer = 8
/** How much later than the next attestation an attestation may arrive and still count as overtaken. */
const mostOvertakenMs = 10 * 60_000
/** The time within which two superseded runs have to be seen alive, and the time for which no run counts after that. */
export const conflictMs = 10 * 60_000

/** The runs of a node that has opened its first one. */
export const noFormerRuns: Runs = { former: [] }

const isInConflict = ({ conflictUntil = 0 }: Runs, now: number): boolean => conflictUntil > now

/**
 * The runs after a run attests. A run that attests again changes nothing. `overtaken`: the attestation answers an older challenge than the
 * current run's did. This happens when a slow replica finishes the attestation of a killed daemon after the daemon's next start. A daemon
 * that is alive attests again.
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

/** The runs after a request that a superseded run signed at `signedAt`. Returns the same object when it shows nothing new. */
export function seeFormer(runs: Runs, thumbprint: string, signedAt: number, now: number): Runs {
  const seen = runs.former.find((run) => run.thumbprint === thumbprint)
  if (!seen || seen.seenAliveAt !== undefined || signedAt <= seen.endedAt) return runs
  const former = runs.former.map((run) => (run === seen ? { ...run, seenAliveAt: now } : run))
  const recent = former.filter(
    ({ seenAliveAt }) => seenAliveAt !== undefined && now - seenAliveAt < conflictMs,
  )
  return { ...runs, former, ...(recent.length > 1 && { conflictUntil: now + conflictMs }) }
}
