import { foldStanding } from '../../../icl/background/fold-standing.ts'
import type { Dependencies } from '../../../icl/dependencies.ts'
import { attestedNode, type Node } from '../../../icl/rules/eligibility.ts'
import type { Address, JobId } from '../../../lib/codecs.ts'
import { dayMs, toSeconds } from '../../../lib/time.ts'
import { aJobId } from '../../branded.ts'
import { fenceOf, sampleJob, take } from '../../icl/rules/sample-job.ts'
import { modelId } from '../../icl/test-icl.ts'
import { sampleReading } from '../../sample-reading.ts'
import type { RosterEntry } from './roster.ts'

const promptCid = `bafkrei${'a'.repeat(52)}`

/** The id of a job of the benchmarks. */
export const jobIdOf = (round: number, index: number): JobId =>
  aJobId(`0x${(round * 1e7 + index + 1).toString(16).padStart(64, '0')}`)

function nodeOf({ address, publicKey, thumbprint }: RosterEntry, now: number, index: number): Node {
  const expiresAt = now + dayMs
  const certificate = {
    id: address,
    backend: 'mock' as const,
    issuedAt: now,
    expiresAt,
    thumbprint,
    session: {
      key: publicKey,
      not_after: Math.floor(expiresAt / 1000),
      signature: `0x${'1'.repeat(128)}1b` as const,
    },
  }
  return {
    ...attestedNode(address, certificate, sampleReading),
    heartbeatAt: now,
    // A node that polls every 5 s has its poll noted by every fourth.
    polledAt: now - (index % 4 === 0 ? 25_000 : 1_000),
    modelIds: [modelId],
    capacity: 64,
  }
}

/** Commands that put into the store what a benchmark starts from. */
export const prepareCommands = ({ store, pool, clock }: Dependencies) => ({
  /** Nodes that have just attested, again or for the first time. */
  nodes: async ({ nodes }: { readonly nodes: readonly RosterEntry[] }) => {
    const now = clock.now()
    await inGroups(nodes, async (entry, index) => {
      const known = await store.findNode(entry.address)
      const node = nodeOf(entry, now, index)
      // As its scores have left it.
      const { standing, folded } =
        known?.document ?? (await foldStanding(store, node, undefined, toSeconds(now)))
      const base = known?.version ?? 0
      await store.save({ kind: 'node', node: { ...node, standing, folded }, base })
    })
    pool.forget()
  },
  /** How many jobs there are by phase. */
  phases: async () => (await store.stats()).jobsByPhase,
  /** Jobs of which every node of three has an offer. */
  offers: async ({
    round,
    nodes,
  }: {
    readonly round: number
    readonly nodes: readonly Address[]
  }) => {
    const now = clock.now()
    const quorums = nodes.flatMap((_, index) =>
      index % 3 === 0 ? [nodes.slice(index, index + 3)] : [],
    )
    await inGroups(quorums, async (chosen, index) => {
      const id = jobIdOf(round, index)
      let job = sampleJob({
        id,
        promptCid,
        createdAt: now,
        deadline: now + 600_000,
        modelId,
        members: chosen,
      })
      for (const node of chosen)
        job = take(job, { type: 'see-access', node, fence: fenceOf(job, node) }, now)
      await store.save({ kind: 'job', job: { ...job, outbox: [] }, base: 0 })
    })
  },
})

/** Few at a time, as many as a store commits together. */
async function inGroups<T>(
  all: readonly T[],
  work: (one: T, index: number) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < all.length; start += 500) {
    const group = all.slice(start, start + 500)
    await Promise.all(group.map((one, index) => work(one, start + index)))
  }
}
