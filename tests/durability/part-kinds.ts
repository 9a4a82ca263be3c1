// Kills of a node in the midst of its part in a job: it has claimed, has to deliver, or has to check.
import { currentTurn } from '../../icl/rules/agreed.ts'
import { checkersOf } from '../../icl/rules/delivery.ts'
import { isSettled, type Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import { comesTo, type FaultKind, last, type Stage } from './stage.ts'
import type { NodePart } from './world.ts'

/** The fences of the assignments whose nodes have this part in the job now. */
type Part = (job: Job) => readonly number[]

const claimers: Part = ({ assignments }) =>
  assignments.filter(({ status }) => status === 'claimed').map(({ fence }) => fence)

/** Whose turn it is, until it has delivered. */
const deliverers: Part = (job) => {
  const turn = currentTurn(job)
  return turn && !turn.delivery ? [turn.fence] : []
}

/** Who has to check the delivery, and has not said anything yet. */
const checkers: Part = (job) => {
  const turn = currentTurn(job)
  if (!job.agreement || !turn?.delivery) return []
  const heard = new Set([...turn.absent, ...turn.verdicts.map(({ body }) => body.fence)])
  return checkersOf(job.agreement, turn).filter((fence) => !heard.has(fence))
}

/** A node that has the part in a job of the load at this moment. */
async function findNode(store: Store, stage: Stage, part: Part): Promise<NodePart | undefined> {
  const { world, load } = stage
  for (const { jobId } of load.told.filter(({ endedAt }) => endedAt === undefined)) {
    const job = (await store.findJob(jobId))?.document
    if (!job || isSettled(job.phase)) continue
    const fences = part(job)
    const taking = job.assignments.filter(({ fence }) => fences.includes(fence))
    const node = world.nodes.find(({ address }) => taking.some(({ node: own }) => own === address))
    if (node) return node
  }
  return undefined
}

const killOf = (name: string, part: Part): FaultKind => ({
  name,
  stores: ['sqlite'],
  put: async (stage) => {
    const store = await stage.world.look()
    const killed: NodePart[] = []
    try {
      await comesTo(async () => {
        const node = await findNode(store, stage, part)
        node?.process().kill('SIGKILL')
        if (node) killed.push(node)
        return node !== undefined
      })
    } finally {
      await store.close()
    }
    const [node] = killed
    if (!node) throw new Error(`No node was found for ${name} within a minute`)
    await node.process().exited
    const how = await last(stage, 0, 20)
    await node.start()
    return `${node.name}, away ${how}`
  },
})

/** Kills of nodes by what they have to do. */
export const partKinds: readonly FaultKind[] = [
  killOf('claimer-kill', claimers),
  killOf('deliverer-kill', deliverers),
  killOf('checker-kill', checkers),
]
