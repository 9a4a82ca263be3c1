/** Who has to act on a cause; `nobody` when it passes or another node takes over. */
export type Actor = 'client' | 'node operator' | 'service operator' | 'provider' | 'nobody'

/** What readers are told of one cause; `{key}` and `{model}` stand for the job's own. */
export type Cause = {
  readonly who: Actor
  /** What happened, as a clause. */
  readonly what: string
  /** What the actor has to do, as an imperative clause. */
  readonly remedy: string
  /** The same node may do the assignment later. */
  readonly passes?: true
  /** It comes from the job itself: other nodes fail alike. */
  readonly sameAnywhere?: true
}
