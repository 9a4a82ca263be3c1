import type { Dice } from '../simulation/dice.ts'
import type { Operation } from './api-document.ts'
import { type Call, type Draft, type Proof, plainCall } from './call.ts'
import { changeCall } from './change-call.ts'
import { changeDraft, fromAnother } from './change-draft.ts'
import { prove } from './prove.ts'
import { fromDocument, soundRequest } from './requests.ts'
import type { FuzzWorld } from './world.ts'

/** How often an operation is asked in relation to others; those that need no proof are asked seldom, because anybody's requests to them look alike. */
const weights: Readonly<Record<string, number>> = {
  previewQuorum: 4,
  drawList: 6,
  submitJob: 6,
  postHeartbeat: 6,
  getAssignments: 9,
  claimAssignment: 12,
  commitAssignment: 9,
  getAssignment: 12,
  revealAnswer: 9,
  postResult: 7,
  postVerdict: 8,
  abortAssignment: 0.6,
  abortTurn: 2,
  cancelJob: 1,
  getChallenge: 1,
  enrollTpm: 1,
  verifyAttestation: 1,
  releaseTpm: 0.3,
}
const weightOf = ({ id, schemes }: Operation): number =>
  weights[id] ?? (schemes.length === 0 ? 0.4 : 2.5)

/** The next request: an operation by its weight, a sound request for it, and, often, something done to that. */
export async function nextCall(
  world: FuzzWorld,
  wanted: readonly string[],
  onTour: Draft | undefined,
): Promise<{ call: Call; draft: Draft }> {
  const { dice } = world
  const draft = onTour ?? (await nextDraft(world, wanted))
  const changes: string[] = []
  let refusedFor: string | undefined
  let changed = draft
  const isPlain = onTour !== undefined || dice.chance(0.62)
  if (!isPlain && dice.chance(0.12)) {
    const other = fromAnother(world, draft)
    if (other) {
      changed = other.draft
      refusedFor = other.refusedFor
      changes.push('from another')
    }
  } else if (!isPlain && dice.chance(0.6)) {
    const { draft: next, what } = changeDraft(world, changed)
    changed = next
    changes.push(what)
  }
  let call: Pick<Call, 'method' | 'target' | 'headers' | 'body'> = plainCall(changed)
  if (!isPlain && changes.length === 0) {
    const { call: next, what } = changeCall(world, call)
    call = next
    changes.push(what)
  }
  const proof = onTour ? soundProofOf(onTour) : proofOf(world, changed)
  const proven = await prove(world, call, changed.sender, proof)
  if (proof !== 'open' && proof !== 'sound') {
    refusedFor = `its proof is ${proof}`
    changes.push(proof)
  }
  // What a change of the path makes it: perhaps an operation that anybody may call.
  const isMoved = changes.includes('path trick') || changes.includes('method')
  return {
    call: { ...proven, proof, refusedFor: isMoved ? undefined : refusedFor, changes },
    draft,
  }
}

const soundProofOf = ({ operation }: Draft): Proof =>
  operation.schemes.length === 0 ? 'open' : 'sound'

const unsound: readonly Proof[] = ['missing', 'wrong key', 'stale', 'tampered']

function proofOf({ dice }: FuzzWorld, { operation, sender, params }: Draft): Proof {
  if (operation.schemes.length === 0) return 'open'
  if (sender === undefined) return 'missing'
  const isOthers =
    sender.kind === 'token' && sender.jobId?.toLowerCase() !== params.jobId?.toLowerCase()
  if (isOthers) return 'wrong key'
  return dice.chance(0.03) ? dice.pick(unsound) : 'sound'
}

async function nextDraft(world: FuzzWorld, wanted: readonly string[]): Promise<Draft> {
  const { dice, document } = world
  const { operations } = document
  if (wanted.length > 0 && dice.chance(0.2)) {
    const id = dice.pick(wanted)
    const draft = await soundRequest(world, operations.find((operation) => operation.id === id)!)
    if (draft) return draft
  }
  for (let tries = 0; ; tries++) {
    const operation = pickByWeight(dice, operations)
    const draft = await soundRequest(world, operation)
    if (draft) return draft
    // What nothing is there for yet is sometimes asked all the same.
    if (tries > 20 || dice.chance(0.08)) return fromDocument(world, operation)
  }
}

function pickByWeight(dice: Dice, operations: readonly Operation[]): Operation {
  let left = dice.next() * operations.reduce((sum, operation) => sum + weightOf(operation), 0)
  for (const operation of operations) {
    left -= weightOf(operation)
    if (left < 0) return operation
  }
  return dice.pick(operations)
}
