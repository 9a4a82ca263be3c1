import { runCases } from './run-cases.ts'

/** What workerd runs: every request is answered with what came of each case. */
const worker = {
  fetch: async () => Response.json(await runCases()),
}
export default worker
