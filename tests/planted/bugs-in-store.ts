import type { PlantedBug } from './planted-bug.ts'

/** Mistakes in what keeps jobs, keys and events, and in the journal for when the database is away. */
export const bugsInStore: readonly PlantedBug[] = [
  {
    name: 'version-not-checked-in-memory',
    what: 'of two who change a document, both are told that they did',
    file: 'icl/store/memory.ts',
    find: 'if ((known?.version ?? 0) !== base) return false',
    replace: '',
    tests: ['tests/store/memory.test.ts'],
  },
  {
    name: 'version-not-checked-in-sqlite',
    what: 'of two who change a document, both are told that they did',
    file: 'icl/store/sqlite-writes.ts',
    find: "if ((known ? numberOf(known, 'version') : 0) !== base) return false",
    replace: '',
    tests: ['tests/store/sqlite.test.ts'],
  },
  {
    name: 'version-not-checked-in-mongodb',
    what: 'of two who change a document, both are told that they did',
    file: 'icl/store/mongodb-saves.ts',
    find: 'const filter = { _id: id, version: base } as Filter<Row>',
    replace: 'const filter = { _id: id } as Filter<Row>',
    tests: ['tests/store/mongodb.test.ts'],
  },
  {
    name: 'acknowledged-before-it-is-written',
    what: 'a change is acknowledged before its transaction is on the disk',
    file: 'icl/store/sqlite-commits.ts',
    find: 'const answers = batch.map(({ work }) => work())',
    replace:
      'const answers = batch.map(({ work, resolve }) => { const done = work(); resolve(done); return done })',
    tests: ['tests/store/sqlite-commits.test.ts'],
  },
  {
    name: 'save-repeated-under-its-id',
    what: 'a save whose answer was lost is taken for somebody else’s when it is sent again',
    file: 'icl/store/memory.ts',
    find: 'if (writeId !== undefined && known?.writeId === writeId) return true',
    replace: '',
    tests: ['tests/store/memory.test.ts'],
  },
  {
    name: 'journal-replayed-twice',
    what: 'writes of the journal that the database has are saved again',
    file: 'icl/store/fallback-replay.ts',
    find: 'journal.readWrites(journal.replayed)',
    replace: 'journal.readWrites(0)',
    tests: ['tests/store/fallback.test.ts'],
  },
  {
    name: 'foreign-version-ignored',
    what: 'a replay goes on over what another process saved meanwhile',
    file: 'icl/store/fallback-replay.ts',
    find: 'if (await isHarmless(write, store, now)) return',
    replace: 'return',
    tests: ['tests/store/fallback.test.ts'],
  },
  {
    name: 'torn-line-taken',
    what: 'a line of the journal counts whose checksum is wrong',
    file: 'icl/store/journal-reading.ts',
    find: 'const json = bytes.subarray(9)\n',
    replace: 'const json = bytes.subarray(9)\n  if (json.length > 0) return json.toString()\n',
    tests: ['tests/store/journal.test.ts'],
  },
  {
    name: 'key-given-twice',
    what: 'a key that somebody holds is given to another',
    file: 'icl/store/memory-keys.ts',
    find: 'if (held && held.value !== value) return false',
    replace: '',
    tests: ['tests/store/memory.test.ts'],
  },
]
