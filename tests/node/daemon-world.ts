import { vi } from 'vitest'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import { type DaemonDeps, runDaemon } from '../../node/daemon.ts'
import type { JournalEntry } from '../../node/journal/steps.ts'
import type { NodeApi } from '../../node/node-api.ts'
import { aJobId } from '../branded.ts'
import { createJobWorld } from './job-world.ts'

/** A whole daemon on a virtual clock, with an ICL that offers what a test puts into `offers`. */
export async function createDaemonWorld(
  options: {
    secondsLeft?: number
    jobs?: number
    pollSeconds?: number
    unfinished?: readonly JournalEntry[]
  } = {},
) {
  const world = await createJobWorld('leader')
  const { clock } = world
  const now = () => Math.floor(clock.now() / 1000)
  const offers: AssignmentOffer[] = []
  const polls: { at: number; wait: number }[] = []
  const answer = {
    status: 'ok' as const,
    certificate_expires_at: now() + 86_400,
    eligible: true,
    reasons: [],
  }
  const startedAt = clock.now()
  const api = {
    ...world.api,
    postHeartbeat: vi.fn<NodeApi['postHeartbeat']>(async () => answer),
    getAssignments: vi.fn<NodeApi['getAssignments']>(async ({ query }, callOptions) => {
      const wait = query?.wait ?? 0
      polls.push({ at: (clock.now() - startedAt) / 1000, wait })
      if (offers.length === 0 && wait > 0) await clock.sleep(wait * 1000, callOptions?.signal)
      return { assignments: [...offers] }
    }),
    claimAssignment: vi.fn<NodeApi['claimAssignment']>(async ({ body }) => {
      const offered = offers.findIndex(({ jobId }) => jobId === body.jobId)
      if (offered >= 0) offers.splice(offered, 1)
      // Each job has a key of its own, which is bound to it.
      const { jobId, fence } = body
      const claim = { ...world.claim, jobId, fence, ...(await world.sealPrompt()) }
      world.chain.commitments.set(claim.kpHighHandle, listCommitment(claim))
      return { ...claim, claimDeadline: now() + 120, server_time: now() }
    }),
  }
  const attest = vi.fn(async (_signal: AbortSignal) => now() + 86_400)
  const offered = new Map(world.deps.models)
  const changes: (() => void)[] = []
  const deps: DaemonDeps = {
    ...world.deps,
    offer: { now: offered, withdrawn: new Map(), onChange: (tell) => changes.push(tell) },
    api,
    journal: { ...world.journal, unfinished: options.unfinished ?? [] },
    chain: world.chain,
    version: '1.2.3',
    backend: 'mock',
    expiresAt: now() + (options.secondsLeft ?? 86_400),
    attest,
    maxConcurrentJobs: options.jobs ?? 2,
    pollSeconds: options.pollSeconds ?? 5,
    drainMs: 60_000,
    checkDisk: async () => {
      if (disk.failure) throw disk.failure
    },
    residentBytes: () => memory.bytes,
    shrinkMemory: () => {
      memory.shrinks++
    },
  }
  const memory = { bytes: 1, shrinks: 0 }
  /** Why the disk takes no files. */
  const disk: { failure: Error | undefined } = { failure: undefined }
  const stop = new AbortController()
  const abandon = new AbortController()
  return {
    ...world,
    api,
    attest,
    memory,
    disk,
    deps,
    offers,
    polls,
    answer,
    stop,
    abandon,
    /** Takes all models out of the offer. */
    offerNothing: () => {
      offered.clear()
      for (const tell of changes) tell()
    },
    start: () => runDaemon(deps, stop.signal, abandon.signal),
    offer: (digit: number): void => {
      const jobId = `0x${String(digit).repeat(64)}` as const
      offers.push({ ...world.assignment, jobId: aJobId(jobId) })
    },
    lines: (fragment: string) => world.log.lines.filter((line) => line.includes(fragment)),
  }
}

export type DaemonWorld = Awaited<ReturnType<typeof createDaemonWorld>>
