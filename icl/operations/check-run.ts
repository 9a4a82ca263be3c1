import { ProblemError } from '../../lib/problem.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode } from '../records/change-node.ts'
import { ended, type Node } from '../rules/eligibility.ts'
import { type RunRefusal, type Runs, runRefusal, seeFormer } from '../rules/runs.ts'

/** Saves what the request of a run shows. Then throws `run-superseded` or `run-conflict` if the run does not count. */
export async function checkRun(
  deps: Dependencies,
  node: Node,
  thumbprint: string,
  signedAt: number,
): Promise<void> {
  const now = deps.clock.now()
  if (runRefusal(node.runs, node.certificate, thumbprint, now) === undefined) return
  const { runs, certificate } =
    (await changeNode(deps, node.address, (known) => {
      const seen = known && seeFormer(known.runs, thumbprint, signedAt, now)
      if (!known || !seen || seen === known.runs) return known
      if (seen.conflictUntil === known.runs.conflictUntil) return { ...known, runs: seen }
      return { ...known, runs: seen, certificate: ended(known.certificate) }
    })) ?? node
  if (runs.conflictUntil !== node.runs.conflictUntil) {
    deps.log.warn('daemons supersede one another', { node: node.address })
  }
  const refusal = runRefusal(runs, certificate, thumbprint, now)
  if (refusal) throw runProblem(refusal, runs, now)
}

/** The problem of a run that does not count. */
export function runProblem(
  refusal: RunRefusal,
  { conflictUntil = 0 }: Runs,
  now: number,
): ProblemError {
  if (refusal === 'run-superseded') {
    const detail = 'Another daemon has started with this wallet, and only the newest one counts'
    return new ProblemError(refusal, detail)
  }
  const seconds = Math.ceil((conflictUntil - now) / 1000)
  const detail = `Two daemons with this wallet supersede one another; none counts for the next ${seconds} s`
  return new ProblemError(refusal, detail)
}
