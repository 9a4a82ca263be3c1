import type { Operation } from './api-document.ts'
import type { Draft } from './call.ts'
import { soundRequest } from './requests.ts'
import type { FuzzWorld } from './world.ts'

const lifeOfAJob = [
  'getAssignments',
  'claimAssignment',
  'commitAssignment',
  'getAssignment',
  'revealAnswer',
  'putBlob',
  'showAnswer',
  'abortTurn',
  'postResult',
  'postVerdict',
  'weighAnswers',
  'openNumbers',
  'getJob',
]
const roundsPerJob = 75
const mostRounds = 300

/** Sound requests alone, until a job is accepted: chance then has something of every kind to ask about. */
export async function* tourOf(world: FuzzWorld): AsyncGenerator<Draft> {
  const { document, model } = world
  const known = new Map(document.operations.map((operation) => [operation.id, operation]))
  const make = async (id: string): Promise<Draft | undefined> => {
    const operation: Operation | undefined = known.get(id)
    return operation && soundRequest(world, operation)
  }
  for (let round = 0; round < mostRounds && model.accepted.length === 0; round++) {
    const begins =
      round % roundsPerJob === 0 ? ['putBlob', 'previewQuorum', 'drawList', 'submitJob'] : []
    for (const id of [...begins, ...lifeOfAJob]) {
      const draft = await make(id)
      if (draft) yield draft
    }
  }
}
