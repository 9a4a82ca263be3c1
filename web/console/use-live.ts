import { useEffect, useState } from 'preact/hooks'
import type { ConsoleJob, ConsoleOverview } from '../../lib/schemas/console.ts'
import { follow, type Liveness } from './live.ts'

const mostChanges = 500

/** The page's live data from the ICL. */
export type Live = {
  readonly liveness: Liveness
  readonly error: string | undefined
  readonly overview: ConsoleOverview | undefined
  /** The latest changes, newest last. The same array until there are others. */
  readonly changed: readonly ConsoleJob[]
  /** Grows whenever all lists must be read again. */
  readonly reloads: number
  readonly restart: () => void
}

/** Follows the ICL while the page is open. */
export function useLive(): Live {
  const [liveness, setLiveness] = useState<{ now: Liveness; error?: string | undefined }>({
    now: 'connecting',
  })
  const [overview, setOverview] = useState<ConsoleOverview>()
  const [changed, setChanged] = useState<readonly ConsoleJob[]>([])
  const [reloads, setReloads] = useState(0)
  const [starts, setStarts] = useState(0)
  useEffect(() => {
    const gone = new AbortController()
    let known: readonly ConsoleJob[] = []
    const keep = (jobs: readonly ConsoleJob[]) => {
      known = jobs
      setChanged(jobs)
    }
    const reload = () => {
      keep([])
      setReloads((times) => times + 1)
    }
    void follow(
      {
        onLiveness: (now, error) => setLiveness({ now, error }),
        onOverview: setOverview,
        // Without a change that was dropped, lists would show the job as it was before.
        onJobs: (jobs) =>
          known.length + jobs.length > mostChanges ? reload() : keep([...known, ...jobs]),
        onReload: reload,
      },
      gone.signal,
    )
    return () => gone.abort()
  }, [starts])
  return {
    liveness: liveness.now,
    error: liveness.error,
    overview,
    changed,
    reloads: reloads + starts,
    restart: () => setStarts((times) => times + 1),
  }
}
