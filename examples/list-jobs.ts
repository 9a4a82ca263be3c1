// Lists every job of this wallet, newest first, 50 a page.

import { client } from './connect.ts'

let cursor: string | null | undefined
while (cursor !== null) {
  const page = await client.jobs(cursor === undefined ? {} : { cursor })
  for (const { jobId, status, model_id } of page.jobs) console.log(`${jobId} ${model_id} ${status}`)
  cursor = page.next_cursor
}
