import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Dependencies } from '../dependencies.ts'
import { claimKey } from '../store/claim-key.ts'
import { type PreviewToken, previewMs } from './preview-quorum.ts'

const maxTries = 5
/** How long a draw waits for the job that took it, in milliseconds, by clocks that agree to a second: whoever took it may have died before the job was saved. */
const patienceMs = 10_000
/** What of that has to be left for saving the job. */
const savingMs = 2_000
/** Longer than any preview of the draw counts, not only the one that it was taken with: once the job is there, previews are of another draw. */
const keptMs = previewMs + 30_000

/** Who has taken a draw, and when, in milliseconds. */
type Holder = { readonly id: string; readonly since: number }

const keyOf = (preview: PreviewToken) => `preview:${preview.id}`

const textOf = ({ id, since }: Holder) => `${id}@${since}`

const holderOf = (text: string): Holder => {
  // Older versions left out the time: theirs are kept.
  const [id = '', since = 'Infinity'] = text.split('@')
  return { id, since: Number(since) }
}

/** Throws `preview-invalid` when another job has a preview's draw. */
export async function checkDrawFree(
  deps: Dependencies,
  id: JobId,
  preview: PreviewToken,
): Promise<void> {
  const text = await deps.store.findKey(keyOf(preview), deps.clock.now())
  if (text !== undefined) await checkHolder(deps, id, holderOf(text))
}

/**
 * Uses up a preview's draw for a job, which has to be saved at once: the function that this gives says whether there is still time
 * for that. Throws `preview-invalid` when another job has the draw.
 */
export async function takeDraw(
  deps: Dependencies,
  id: JobId,
  preview: PreviewToken,
): Promise<() => boolean> {
  const key = keyOf(preview)
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const since = deps.clock.now()
    const mine = textOf({ id, since })
    const text = await claimKey(deps, key, mine, since + keptMs)
    const holder = holderOf(text)
    // The same submission, sent again, goes on with what it has: between its release and its next claim another could come.
    if (holder.id === id && !(await isForsaken(deps, holder))) {
      return () => deps.clock.now() - holder.since < patienceMs - savingMs
    }
    await checkHolder(deps, id, holder)
    await deps.store.save({ kind: 'release-key', key, value: text })
  }
  throw new ProblemError('unavailable', 'Too many take this draw at once; submit the job again', {
    retryAfterSeconds: 1,
  })
}

/** A draw that was taken for a job which never came is free again: nothing counts it, so that every new preview would get it. */
const isForsaken = async ({ store, clock }: Dependencies, { id, since }: Holder) =>
  clock.now() - since >= patienceMs && !(await store.findJob(id as JobId))

async function checkHolder(deps: Dependencies, id: JobId, holder: Holder): Promise<void> {
  if (holder.id === id || (await isForsaken(deps, holder))) return
  throw new ProblemError('preview-invalid', 'The preview was used for another job')
}
