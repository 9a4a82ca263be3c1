/*
 * Problem: a replica has to learn what other replicas saved, without change streams, without reading all jobs, and
 * without missing a change. Times set by the ICLs would differ as their clocks do, and a counter would be a second
 * document for each save.
 *
 * Idea: each save of a job stamps it with the server's cluster time ($currentDate), which never goes back on a replica
 * set or sharded cluster. A reader asks for the jobs with a later stamp than its cursor.
 *
 * Invariants:
 * - A reader reports each stamp that it finds once. A job that was saved several times between two reads is reported
 *   with its newest version.
 * - The cursor advances to the latest change that this reader has known for settlingMs by its own clock. Before
 *   that, a save with an earlier stamp may still become readable. The cursor lists later changes that were reported.
 * - The first read reports nothing. Its cursor starts ten seconds before the newest stamp, for the same reason.
 *
 * Failure cases: a save that becomes readable later than settlingMs after its stamp may be missed. When the clock of a
 * single server is set back, changes are not reported until the clock has caught up. In both cases a waiting caller
 * reads the job again at the end of its wait. While MongoDB is away the read throws unavailable, and the same cursor
 * works afterwards.
 */

import { Timestamp } from 'mongodb'
import { z } from 'zod'
import type { Clock } from '../../../lib/clock.ts'
import { JobId } from '../../../lib/codecs.ts'
import { offeredIn } from '../job-index.ts'
import { numberOf, parsed, type Row } from '../rows.ts'
import type { JobChange, Store } from '../store.ts'
import type { Queries } from './queries.ts'
import { occupiedOf } from './reads.ts'

/** Seconds, and a count within the second, as the server sets them. */
const Stamp = z.tuple([z.number(), z.number()])
export type Stamp = z.output<typeof Stamp>

/** A reported change that one with an earlier stamp may still follow: its stamp, its job, and when this reader first saw it. */
const Recent = z.object({ stamp: Stamp, id: z.string(), seenAt: z.number() })

/** All changes up to `after` were reported, and of the later ones those in `told`. */
const Cursor = z.object({ after: Stamp, told: z.array(Recent) })
type Cursor = z.output<typeof Cursor>

/** How long a save may take from its stamp until it is readable. The first read goes back further for the same reason. */
export const settlingMs = 5_000
const settlingSeconds = 10

/** Reads the changes since a cursor. */
export function changeReads({ list, one }: Queries, clock: Clock) {
  const projection = { version: 1, occupied: 1, changed: 1 }
  const readSince = async ([t, i]: Stamp): Promise<readonly Seen[]> =>
    (await list('job', { changed: { $gt: new Timestamp({ t, i }) } }, { projection })).map(seenOf)
  const readNewest = async (): Promise<Seen | undefined> => {
    const row = await one('job', {}, { projection, sort: { changed: -1 } })
    return row && seenOf(row)
  }
  return {
    listChanges: async (text) => {
      const now = clock.now()
      const cursor = text === undefined ? undefined : Cursor.parse(JSON.parse(text))
      const after = cursor?.after ?? earlierStamp((await readNewest())?.stamp)
      const seen = await readSince(after)
      const known = new Map(cursor?.told.map((recent) => [keyOf(recent), recent]))
      const told = seen.map((one) => {
        const { id, stamp, seenAt } = known.get(keyOf(one)) ?? { ...one, seenAt: now }
        return { id, stamp, seenAt }
      })
      const news = seen.filter((one) => !known.has(keyOf(one)))
      return {
        cursor: JSON.stringify(settle({ after, told }, now)),
        jobs: cursor ? news.map(({ change }) => change) : [],
      }
    },
  } satisfies Partial<Store>
}

/** A change read from the database. */
type Seen = { readonly id: string; readonly stamp: Stamp; readonly change: JobChange }

function seenOf(row: Row): Seen {
  const id = parsed(JobId, row, 'id')
  const offeredTo = offeredIn(parsed(z.array(z.string()), row, 'occupied').map(occupiedOf))
  return { id, stamp: stampOf(row), change: { id, version: numberOf(row, 'version'), offeredTo } }
}

/** Returns when a row was saved, by the server. */
export function stampOf(row: Row): Stamp {
  const { t, i } = parsed(z.instanceof(Timestamp), row, 'changed')
  return [t, i]
}

const keyOf = ({ id, stamp }: { readonly id: string; readonly stamp: Stamp }): string =>
  `${id}:${stamp.join(':')}`

/** Orders stamps. */
export const compareStamps = (a: Stamp, b: Stamp): number => a[0] - b[0] || a[1] - b[1]

/** Returns where a reader that knows the newest stamp begins. */
export const earlierStamp = (stamp: Stamp | undefined): Stamp =>
  stamp ? [Math.max(stamp[0] - settlingSeconds, 0), 0] : [0, 0]

/** Advances the cursor to the latest change that no earlier one can follow any more. */
function settle({ after, told }: Cursor, now: number): Cursor {
  const old = told.filter(({ seenAt }) => now - seenAt >= settlingMs)
  const stamps = old.map(({ stamp }) => stamp).sort(compareStamps)
  const last = stamps.at(-1) ?? after
  return { after: last, told: told.filter(({ stamp }) => compareStamps(stamp, last) > 0) }
}
