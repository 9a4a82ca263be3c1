// Recomputes the quorum of a job: npm run quorum:recompute -- JOB --icl URL --read-token TOKEN

import { recomputeQuorum } from './recompute-quorum.ts'

process.exitCode = await recomputeQuorum(process.argv.slice(2), {
  environment: process.env,
  print: (line) => console.log(line),
  complain: (line) => console.error(line),
})
