import type { Follower } from '../../icl/store/mirror/follower.ts'
import { openMirror } from '../../icl/store/mirror/mirror.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { SqliteStore } from '../../icl/store/sqlite/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { type CutStore, createCutStore } from '../store/cut-store.ts'
import { contentsOf, createMemoryDatabase } from '../store/mirror-world.ts'
import { inCallOrder } from '../virtual-clock.ts'
import type { Dice } from './dice.ts'
import { createDisk, createFiles, type StoreDisk, timeless } from './sqlite-disk.ts'

/** A file, and a database that follows it behind a connection that can be cut. */
export type MirrorDisk = StoreDisk & {
  /** How the connection fails, of this process and of those that come after it. */
  cut: CutStore['cut']
  /** What is wrong with the database: it is ahead of the file, or has another state of what it should have. */
  wrong(): Promise<readonly string[]>
}

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
// A call to the database takes so long at most, in milliseconds.
const slowestMs = 4

/** The same, a little later. */
const slowly = (follower: Follower, clock: Clock, dice: Dice): Follower => ({
  ...follower,
  put: async (...args) => {
    await clock.sleep(dice.between(0, slowestMs))
    return follower.put(...args)
  },
})

/** Makes an empty file and an empty database, and opens the mirror. */
export async function createMirrorDisk(clock: Clock, dice: Dice): Promise<MirrorDisk> {
  const database = createMemoryDatabase(clock)
  const files = createFiles('icl.db')
  let cut: CutStore['cut'] = 'none'
  let file: SqliteStore
  const disk = await createDisk(files, async () => {
    const life = files.lives()
    const connection = createCutStore<Follower>(slowly(database.follower, clock, dice))
    connection.cut = (name) => {
      if (life !== files.lives()) return 'before'
      return typeof cut === 'function' ? cut(name) : cut
    }
    file = await inCallOrder(() => openSqliteStore(files.place(), { clock }))
    return openMirror({
      ...{ store: timeless(file), follower: connection.store, name: 'a', startEmpty: true },
      ...{ clock, random: dice, log },
    })
  })
  return {
    ...disk,
    get cut() {
      return cut
    },
    set cut(next) {
      cut = next
    },
    wrong: async () => {
      const { db } = file
      const seq = Number(db.prepare('SELECT seq FROM mirror').get()?.seq)
      const waits = db.prepare('SELECT 1 FROM unsent WHERE kind = ? AND id = ?')
      const there = await contentsOf(database.follower.scan())
      const here = await contentsOf(disk.store.scan())
      const ahead = [...database.rows.values()].filter((row) => row.seq > seq)
      const names = [...new Set([...here.keys(), ...there.keys()])]
      const others = names.filter((name) => {
        const [kind = '', id = ''] = name.split(/:(.*)/s)
        return here.get(name) !== there.get(name) && !waits.get(kind, id)
      })
      return [
        ...ahead.map(({ kind, id }) => `the database is ahead of the file: ${kind} ${id}`),
        ...others.map((name) => `the database has another state of ${name}`),
      ]
    },
  }
}
