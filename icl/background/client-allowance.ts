import { ProblemError } from '../../lib/problem.ts'
import type { AllowanceHolder } from '../../lib/reputation.ts'
import type { Dependencies } from '../dependencies.ts'
import { allowanceOf, withAccepted } from '../rules/client.ts'
import type { Job } from '../rules/job.ts'

const maxTries = 20

type Needed = Pick<Dependencies, 'store' | 'clock' | 'turns'>
type Scored = Pick<Job, 'client' | 'phase' | 'settledAt'>

/** Returns whose allowance a job's events use. Records once when the client's first job was accepted. */
export const loadAllowance = (deps: Needed, job: Scored): Promise<AllowanceHolder> =>
  deps.turns(`client ${job.client}`, () => loadInTurn(deps, job))

async function loadInTurn(
  { store, clock }: Needed,
  { client: address, phase, settledAt }: Scored,
): Promise<AllowanceHolder> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await store.findClient(address)
    const known = found?.document
    if (phase !== 'accepted' || settledAt === undefined) return allowanceOf(known, clock.now())
    const client = withAccepted(known, address, settledAt)
    const isKnown = client === known
    if (isKnown || (await store.save({ kind: 'client', client, base: found?.version ?? 0 }))) {
      return allowanceOf(client, clock.now())
    }
  }
  throw new ProblemError('unavailable', 'The client is being changed by too many at once', {
    retryAfterSeconds: 1,
  })
}
