// sqlite-burst.ts FILE: saves jobs as fast as it can, and prints the id of each once it may be told; ended by a kill.

import { writeSync } from 'node:fs'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { aJobId } from '../branded.ts'
import { sampleJob } from '../icl/rules/sample-job.ts'

const store = (await openSqliteStore(process.argv[2] ?? '')).ahead()
const saveOn = async (worker: number) => {
  for (let count = 0; ; count++) {
    const id = `0x${(worker * 1e9 + count).toString(16).padStart(64, '0')}` as const
    const barrier = store.commits.barrier()
    await store.save({ kind: 'job', job: { ...sampleJob(), id: aJobId(id) }, base: 0 })
    await barrier()
    writeSync(1, `${id}\n`)
  }
}
await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(saveOn))
