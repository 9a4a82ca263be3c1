import { ProblemError } from '../../lib/problem.ts'
import type { AllowanceHolder } from '../../lib/reputation.ts'
import type { Dependencies } from '../dependencies.ts'
import { allowanceOf, withAccepted } from '../rules/client.ts'
import type { Job } from '../rules/job.ts'

const maxTries = 20

/** Whose allowance a job's events use; notes, once, when the client's first job was accepted. */
export async function loadAllowance(
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  { client: address, phase, settledAt }: Pick<Job, 'client' | 'phase' | 'settledAt'>,
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
