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

export const passes = { passes: true } as const
export const sameAnywhere = { sameAnywhere: true } as const

/** Makes the rows of an actor. */
const rowsOf =
  (who: Actor) =>
  (what: string, remedy: string, more: Pick<Cause, 'passes' | 'sameAnywhere'> = {}): Cause => ({
    who,
    what,
    remedy,
    ...more,
  })

export const client = rowsOf('client')
export const nodeOperator = rowsOf('node operator')
export const serviceOperator = rowsOf('service operator')
export const provider = rowsOf('provider')
export const nobody = rowsOf('nobody')
