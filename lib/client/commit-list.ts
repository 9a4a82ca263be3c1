import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { maskOf } from '../list.ts'
import type { ListTerms } from '../list-commitment.ts'
import type { ClientContext } from './context.ts'
import type { JobList } from './own-list.ts'

/** A job that is about to be submitted: its identity, and the list that it is bound to. */
export type JobOrder = { readonly identity: JobIdentity; readonly list: JobList }

/** Returns what the client commits to on chain for a job. */
export const listTermsOf = ({ identity, list: { signed, until } }: JobOrder): ListTerms => ({
  jobId: jobIdOf(identity),
  activator: signed.body.coordinator,
  until,
  list: signed.body.list,
})

/** Binds the key to job and list on chain, for good, and lets the first seats read it; throws `commit-list-reverted` or a chain error. */
export async function commitList(
  { chain }: Pick<ClientContext, 'chain'>,
  order: JobOrder,
  signal?: AbortSignal,
): Promise<void> {
  const { identity, list } = order
  await chain.commitList(
    {
      highHandle: identity.kpHighHandle,
      lowHandle: identity.kpLowHandle,
      terms: listTermsOf(order),
      mask: maskOf(list.positions),
    },
    signal,
  )
}
