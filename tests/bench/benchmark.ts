/** How much is measured: `short` is for every day, `long` for figures to publish. */
const forms = ['short', 'long'] as const
export type Form = (typeof forms)[number]

/** A number that is to be reached, and what was found. */
export type Goal = {
  readonly what: string
  readonly found: number
  readonly unit: string
  readonly limit: number
  readonly better: 'higher' | 'lower'
  /** What holds it back where it is missed, as far as it is known. */
  readonly heldBackBy?: string
}

/** What a benchmark found. */
export type Findings = {
  /** How it was measured, in a few sentences. */
  readonly method: string
  readonly tables: readonly {
    readonly title: string
    readonly rows: readonly (readonly string[])[]
    /** The run prints it, and the page leaves it out. */
    readonly isDetail?: true
  }[]
  /** Every number by its name, which ends with its unit. */
  readonly figures: Readonly<Record<string, number>>
  readonly goals: readonly Goal[]
  /** What could not be measured here, and why. */
  readonly skipped: readonly string[]
}

/** One of the benchmarks; `say` tells how far it is. */
export type Benchmark = {
  readonly title: string
  readonly run: (form: Form, say: (progress: string) => void) => Promise<Findings>
}

/** True when the goal was reached. */
export const isMet = ({ found, limit, better }: Goal): boolean =>
  better === 'higher' ? found >= limit : found <= limit

/** Takes what a form asks for. */
export const byForm = <T>(form: Form, choices: Readonly<Record<Form, T>>): T => choices[form]
