import { type Cause, client, nobody, serviceOperator } from './cause.ts'

/** Causes for which a job waits, or ends without an answer. */
export const jobCauses = {
  'list-ended': client(
    'a seat fell empty, and the commitment of the client on chain gives no other node of the list access',
    'run the job again with another prompt key. Commit to the list that is submitted, and leave it open until the job has settled',
  ),
  'list-differs': client(
    'the client committed on chain to another list or job than it submitted',
    'run the job again with another prompt key, and commit to the `jobId` and the list that are submitted',
  ),
  'different-answer': client(
    "the node's answer differs from the delivered one",
    'use a model that gives the same answer each time, or another comparator',
  ),
  inconclusive: client(
    'the two answers are neither alike nor different enough to tell',
    'use a comparator that fits the kind of answer',
  ),
  'awaiting-grant': client(
    'the job waits until its nodes may read the prompt key',
    'commit to the list on chain (`commitList`) when the job is submitted',
  ),
  'not-enough-nodes': serviceOperator(
    'too few nodes are free that could do the job',
    'wait until more nodes are active, or start more',
  ),
  'attempts-exhausted': nobody(
    'every node that was tried failed at the job',
    "see the causes of the job's seats, and run it again",
  ),
  'list-used-up': nobody(
    'a seat fell empty, and no node is left on the list of the job that could take it',
    "run the job again with another prompt key, which makes another list. The causes of the job's seats say why nodes failed",
  ),
  'deadline-passed': nobody(
    'the job could not be done before its deadline',
    'run it again. If it happens often, the nodes are overloaded',
  ),
  'quorum-disagreed': client(
    'the nodes did not agree on an answer',
    'run it again, use a model that gives the same answer each time, or accept two answers that match (--rule any-two)',
  ),
  undelivered: nobody(
    'the nodes agreed on an answer, but none of them delivered it',
    'run the job again. The job shows why each node failed to deliver',
  ),
  'cancelled-by-client': client(
    'the job was cancelled by its client',
    'submit it again if you still want the answer',
  ),
} as const satisfies Readonly<Record<string, Cause>>
