import type { Api } from '../api.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import type { JobPhase } from '../schemas/jobs.ts'

type Previewing = Pick<Api, 'previewQuorum' | 'drawList' | 'submitJob' | 'getJob'>
type Preview = Awaited<ReturnType<Api['previewQuorum']>>

// A key may be stored up to a minute after its terms are chosen, and the ICL takes pools of the last 300 s.
type Kept = { readonly preview: Preview; readonly at: MonotonicMs; readonly atMs: number }

const freshMs = 30_000
// Other prompts take room meanwhile. One has 1 MiB at most.
const plentyBytes = 64 * 1024 * 1024
const well: readonly JobPhase[] = ['open', 'running', 'accepted']

/**
 * The ICL's client, which asks for the same preview again only after 30 s, when there is little room, or once a list or a job was refused
 * or a job has ended without an answer.
 */
export function keepPreviews<A extends Previewing>(api: A, clock: Clock): A {
  const kept = new Map<string, Kept>()
  // The monotonic clock stands still while a machine sleeps.
  const isFresh = ({ at, atMs }: Kept): boolean =>
    elapsedSince(clock, at) < freshMs && Math.abs(clock.now() - atMs) < freshMs
  const forgetting =
    <I extends unknown[], R>(call: (...asked: I) => Promise<R>) =>
    (...asked: I) =>
      call(...asked).catch((error: unknown) => {
        kept.clear()
        throw error
      })
  const previewQuorum: Api['previewQuorum'] = async (input, options) => {
    const name = JSON.stringify(input.query)
    const known = kept.get(name)
    if (known && isFresh(known)) return known.preview
    const [at, atMs] = [clock.monotonic(), clock.now()]
    const preview = await api.previewQuorum(input, options)
    kept.delete(name)
    if (preview.prompt_room_bytes >= plentyBytes) kept.set(name, { preview, at, atMs })
    return preview
  }
  const getJob: Api['getJob'] = async (input, options) => {
    const view = await api.getJob(input, options)
    if (!well.includes(view.status)) kept.clear()
    return view
  }
  const [drawList, submitJob] = [forgetting(api.drawList), forgetting(api.submitJob)]
  return { ...api, previewQuorum, drawList, submitJob, getJob }
}
