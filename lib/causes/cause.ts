/** The one who has to act on a cause; `nobody` when it passes or another node takes over. */
export type Actor = 'client' | 'node operator' | 'service operator' | 'provider' | 'nobody'

/** The texts and properties of a cause. `{key}` and `{model}` stand for the job's own. */
export type Cause = {
  readonly who: Actor
  /** What happened, as a clause. */
  readonly what: string
  /** What the actor should do, as an imperative clause. */
  readonly remedy: string
  /** The same node may do the assignment later. */
  readonly passes?: true
  /** The job itself is the cause, so other nodes fail alike. */
  readonly sameAnywhere?: true
}
