import { vi } from 'vitest'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import type { AssignmentState, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AckStatement } from '../../lib/schemas/statements.ts'
import type { SigningKey } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import type { JobDeps } from '../../node/jobs/job-deps.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { nodeAddress } from './fakes.ts'
import type { Turn } from './job-world.ts'

type Api = JobDeps['api']

type Seat = {
  status: OwnAssignment['status']
  turn: number
  shownAt?: number | undefined
  commitment?: Hash32
}

/** The ICL as one node sees it in its jobs: it acknowledges what it gets, and names the next step: work, reveal, each of the turns, and then over. */
export function createSeat({
  clock,
  iclKey,
  role,
  turns,
}: {
  readonly clock: VirtualClock
  readonly iclKey: SigningKey
  readonly role: 'leader' | 'verifier'
  readonly turns: readonly Turn[]
}) {
  const seats = new Map<string, Seat & { fence: number }>()
  const seatOf = (jobId: JobId, fence = 1) => {
    const known = seats.get(jobId)
    if (known && known.fence >= fence) return known
    const seat: Seat & { fence: number } = { status: 'claimed', turn: 0, fence }
    seats.set(jobId, seat)
    return seat
  }
  const seconds = () => Math.floor(clock.now() / 1000)
  const leaseEnd = seconds() + 120
  const stateOf = (jobId: JobId) => {
    const { status } = seatOf(jobId)
    return { jobId, status, phase: 'running' } as const
  }
  const acknowledge = async (
    about: { readonly jobId: JobId; readonly fence: number },
    step: AckStatement['step'],
    hash: Hash32,
  ) => {
    const { jobId, fence } = about
    const address: Address = nodeAddress
    const at = seconds()
    const body = {
      statement: 'svc-ack-v2',
      jobId,
      address,
      fence,
      step,
      body_hash: hash,
      at,
    } as const
    const signature = await iclKey.sign(statementBytes(body))
    return { ...stateOf(jobId), ack: { body, key: iclKey.publicKey, signature } }
  }
  const pass = (jobId: JobId) => {
    const seat = seatOf(jobId)
    seat.turn++
    seat.shownAt = undefined
  }
  const view = (jobId: JobId): OwnAssignment => {
    const seat = seatOf(jobId)
    const { status, fence } = seat
    const now = seconds()
    const base = { jobId, status, phase: 'running', role, fence, server_time: now } as const
    if (status === 'claimed') return { ...base, step: 'work', deadline: leaseEnd }
    if (status === 'committed') {
      const own = seat.commitment && { address: nodeAddress, fence, commitment: seat.commitment }
      const commitments = own ? [own] : []
      return { ...base, step: 'reveal', deadline: now + 30, commitments }
    }
    const turn = turns[seat.turn]
    if (turn === undefined) return { ...base, phase: 'accepted', step: 'over' }
    seat.shownAt ??= now
    return { ...base, deadline: seat.shownAt + 45, turn: seat.turn, ...turn }
  }
  type Asked = { readonly query?: { readonly wait?: number } | undefined }
  /** The answer to a step with the next one, for a node that asks for that. */
  const withNext = async <S extends AssignmentState>({ query }: Asked, state: S): Promise<S> => {
    if (!query?.wait) return state
    const asked = { params: { jobId: state.jobId }, query }
    return { ...state, next: await getAssignment(asked).catch(() => undefined) }
  }
  const taken = (call: Asked & { readonly body: { readonly jobId: JobId } }) => {
    pass(call.body.jobId)
    return withNext(call, stateOf(call.body.jobId))
  }
  const getAssignment = vi.fn<Api['getAssignment']>(async ({ params }) => view(params.jobId))
  const api = {
    commitAssignment: vi.fn<Api['commitAssignment']>(async ({ query, body }) => {
      const { commitment } = body
      Object.assign(seatOf(body.jobId, body.fence), { status: 'committed', commitment })
      return withNext({ query }, await acknowledge(body, 'commit', body.commitment))
    }),
    getAssignment,
    revealAnswer: vi.fn<Api['revealAnswer']>(async ({ query, body }) => {
      seatOf(body.jobId).status = 'revealed'
      return withNext({ query }, await acknowledge(body, 'reveal', await statementHash(body)))
    }),
    postResult: vi.fn<Api['postResult']>(async ({ query, body }) => {
      pass(body.jobId)
      return withNext({ query }, await acknowledge(body, 'result', await statementHash(body)))
    }),
    postVerdict: vi.fn<Api['postVerdict']>(async ({ query, body }) => {
      pass(body.jobId)
      return withNext({ query }, stateOf(body.jobId))
    }),
    showAnswer: vi.fn<Api['showAnswer']>((call) => taken(call)),
    weighAnswers: vi.fn<Api['weighAnswers']>((call) => taken(call)),
    openNumbers: vi.fn<Api['openNumbers']>((call) => taken(call)),
    abortAssignment: vi.fn<Api['abortAssignment']>(async ({ body }) => stateOf(body.jobId)),
    abortTurn: vi.fn<Api['abortTurn']>(async ({ body }) => {
      pass(body.jobId)
      return stateOf(body.jobId)
    }),
  }
  return { api, view }
}
