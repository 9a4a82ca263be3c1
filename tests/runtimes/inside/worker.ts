import { runCases } from './run-cases.ts'

/** What workerd runs: every request is answered with what came of each case. */
const worker = {
  fetch: async ({ url }: Request) =>
    Response.json(await runCases(new URL(url).searchParams.get('packed'))),
}
export default worker
