import type { Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import type { Exchange } from './network.ts'

type Promised = { readonly what: string; readonly isKept: (store: Store) => Promise<boolean> }

/** What callers were told is done. */
export type Acknowledged = {
  readonly count: number
  note(exchange: Exchange, caller: Address | undefined): void
  /** What was told and is not so, in words. */
  lost(store: Store): Promise<readonly string[]>
}

/** Remembers what every answer with a status of 2xx said. */
export function createAcknowledged(): Acknowledged {
  // By what it says: the same is often told again.
  const promises = new Map<string, Promised>()
  return {
    get count() {
      return promises.size
    },
    note: (exchange, caller) => {
      if (exchange.answer.status >= 300 || exchange.method === 'GET') return
      const promised = promisedBy(exchange, caller)
      if (promised) promises.set(promised.what, promised)
    },
    lost: async (store) => {
      const lost: string[] = []
      for (const { what, isKept } of promises.values()) {
        if (!(await isKept(store))) lost.push(`lost although it was acknowledged: ${what}`)
      }
      return lost
    },
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

type OfAssignment = (
  verb: string,
  holds: (assignment: Job['assignments'][number], job: Job, body: Told) => boolean | undefined,
) => Promised

type Told = {
  readonly jobId: JobId
  readonly fence: number
  readonly signature?: string
  readonly commitment?: string
  readonly cid?: string
}

function promisedBy(
  { path, sent, answer }: Exchange,
  caller: Address | undefined,
): Promised | undefined {
  const asked = () => JSON.parse(textOf(sent.body)) as Told
  const told = () => JSON.parse(textOf(answer.body)) as Told
  const ofAssignment: OfAssignment = (verb, holds) => {
    const body = asked()
    return ofJob(body.jobId, `${caller?.slice(0, 8)} ${verb} (fence ${body.fence})`, (job) =>
      job.assignments.some(
        (assignment) =>
          assignment.fence === body.fence &&
          assignment.node === caller &&
          holds(assignment, job, body) === true,
      ),
    )
  }
  switch (path) {
    case '/v1/blobs': {
      const { cid } = told()
      return {
        what: `blob ${cid}`,
        isKept: async (store) => cid !== undefined && (await store.findBlob(cid)) !== undefined,
      }
    }
    case '/v1/inference':
      return ofJob(told().jobId, 'submitted', () => true)
    case '/internal/task/claim':
      return ofAssignment(
        'claimed',
        ({ status }) => status !== 'offered' && status !== 'awaiting-grant',
      )
    case '/internal/task/commit':
      return ofAssignment('committed', ({ commitment }, _, body) => commitment === body.commitment)
    case '/internal/task/reveal':
      return ofAssignment(
        'revealed',
        ({ answer: own }, _, { signature }) => own?.signature === signature,
      )
    case '/internal/task/result':
      return ofAssignment('delivered', ({ fence }, { agreement }, { signature }) =>
        turnsOf(agreement).some(
          (turn) => turn.fence === fence && turn.delivery?.signature === signature,
        ),
      )
    case '/internal/task/verify':
      return ofAssignment(
        'posted a verdict',
        ({ fence }, { agreement, faults = [] }, { signature }) =>
          turnsOf(agreement).some(({ verdicts }) =>
            verdicts.some((verdict) => verdict.signature === signature),
          ) || faults.some((fault) => fault.kind === 'verdict-refuted' && fault.fence === fence),
      )
    case '/internal/task/show':
      return ofAssignment('showed its answer', ({ fence }, { weighing }, { cid }) =>
        weighing?.shown.some((own) => own.fence === fence && own.cid === cid),
      )
    case '/internal/task/weigh':
      return ofAssignment('committed to numbers', ({ fence }, { weighing }, { commitment }) =>
        weighing?.weighed.some((own) => own.fence === fence && own.commitment === commitment),
      )
    case '/internal/task/numbers':
      return ofAssignment('opened its numbers', (_, { weighing }, { signature }) =>
        weighing?.opened.some((own) => own.signature === signature),
      )
    case '/internal/task/abort':
      // A node that was late may reveal all the same, and an answer stays.
      return ofAssignment('gave it back', ({ status }) =>
        ['aborted', 'lapsed', 'revealed'].includes(status),
      )
    case '/internal/attestation/verify':
      return ofNode(caller)
    default:
      return undefined
  }
}

const turnsOf = (agreement: Job['agreement']) => agreement?.turns ?? []

const ofJob = (jobId: JobId, what: string, holds: (job: Job) => boolean): Promised => ({
  what: `job ${jobId.slice(0, 10)}: ${what}`,
  isKept: async (store) => {
    const found = await store.findJob(jobId)
    return found !== undefined && holds(found.document)
  },
})

const ofNode = (caller: Address | undefined): Promised | undefined =>
  caller && {
    what: `the attestation of ${caller.slice(0, 8)}`,
    isKept: async (store) => (await store.findNode(caller)) !== undefined,
  }
