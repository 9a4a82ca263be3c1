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
  holds: (assignment: Job['assignments'][number], job: Job, body: Told) => boolean,
) => Promised

type Told = {
  readonly status: string
  readonly jobId: JobId
  readonly fence: number
  readonly signature?: string
  readonly commitment?: string
  readonly cid: string
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
          holds(assignment, job, body),
      ),
    )
  }
  switch (path) {
    case '/v1/blobs': {
      const { cid } = told()
      return {
        what: `blob ${cid}`,
        isKept: async (store) => (await store.findBlob(cid)) !== undefined,
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
    case '/internal/task/result':
      return ofAssignment('posted a result', ({ status, round }, job, body) => {
        const result =
          round === job.round
            ? job.result
            : job.rounds?.find((past) => past.round === round)?.result
        return status === 'done' && result?.signature === body.signature
      })
    case '/internal/task/verify':
      return promisedByVerdict(ofAssignment, told().status)
    case '/internal/task/abort':
      return ofAssignment(
        'gave it back',
        ({ status }) => status === 'aborted' || status === 'lapsed',
      )
    case '/internal/attestation/verify':
      return ofNode(caller)
    default:
      return undefined
  }
}

/** A verdict that its own evidence refutes ends its node's part, and is kept as the proof of a fault. */
const promisedByVerdict = (ofAssignment: OfAssignment, told: string): Promised =>
  told === 'done'
    ? ofAssignment(
        'posted a verdict',
        ({ verdict }, _, body) => verdict?.signature === body.signature,
      )
    : ofAssignment(
        'posted a refuted verdict',
        ({ status, fence }, { faults = [] }) =>
          status === told && faults.some((fault) => fault.fence === fence),
      )

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
