/** What a server of the benchmarks is. */
export type ServerOptions = {
  /**
   * `icl`: the ICL as it is deployed, but for its chain, which answers at once. `open`: the same, which believes who a request says
   * it is from. `floor`: the least that a job can take. `hono`: an empty Hono application. `bare`: the runtime's own server. `held`: the
   * same, which never answers.
   */
  readonly kind: 'icl' | 'open' | 'floor' | 'hono' | 'bare' | 'held'
  /** As SVC_ICL_DATABASE_URL. */
  readonly databaseUrl: string
  /** Whether the background work runs, too. */
  readonly workers: boolean
  readonly folder?: string
  /** How long the answers of a `floor` are. */
  readonly answerBytes?: number
  /** How many ICLs share the database, 1 unless it is said. */
  readonly replicas?: number
  /** Whether the chain of an ICL puts no result into a block. */
  readonly stalls?: boolean
  /** Whether an ICL counts what is asked of it. */
  readonly counts?: boolean
}
