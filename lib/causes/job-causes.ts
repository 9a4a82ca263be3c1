import type { Cause } from './cause.ts'

/** Causes for which a job waits, or ends without an answer. */
export const jobCauses = {
  'list-ended': {
    who: 'client',
    what: 'a seat fell empty, and the commitment of the client on chain gives no other node of the list access',
    remedy:
      'run the job again with another prompt key. Commit to the list that is submitted, and leave it open until the job has settled',
  },
  'different-answer': {
    who: 'client',
    what: "the node's answer differs from the delivered one",
    remedy: 'use a model that gives the same answer each time, or another comparator',
  },
  inconclusive: {
    who: 'client',
    what: 'the two answers are neither alike nor different enough to tell',
    remedy: 'use a comparator that fits the kind of answer',
  },
  'awaiting-grant': {
    who: 'client',
    what: 'the job waits until its nodes may read the prompt key',
    remedy: 'commit to the list on chain (`commitList`) when the job is submitted',
  },
  'not-enough-nodes': {
    who: 'service operator',
    what: 'too few nodes are free that could do the job',
    remedy: 'wait until more nodes are active, or start more',
  },
  'attempts-exhausted': {
    who: 'nobody',
    what: 'every node that was tried failed at the job',
    remedy: "see the causes of the job's seats, and run it again",
  },
  'list-used-up': {
    who: 'nobody',
    what: 'a seat fell empty, and no node is left on the list of the job that could take it',
    remedy:
      "run the job again with another prompt key, which makes another list. The causes of the job's seats say why nodes failed",
  },
  'deadline-passed': {
    who: 'nobody',
    what: 'the job was not done before its deadline',
    remedy: 'run it again. If it happens often, the nodes are overloaded',
  },
  'quorum-disagreed': {
    who: 'client',
    what: 'the nodes did not agree on an answer',
    remedy:
      'run it again, use a model that gives the same answer each time, or accept two answers that match (--rule any-two)',
  },
  undelivered: {
    who: 'nobody',
    what: 'the nodes agreed on an answer, but none of them delivered it',
    remedy: 'run the job again. The job shows why each node failed to deliver',
  },
  'cancelled-by-client': {
    who: 'client',
    what: 'the job was cancelled by its client',
    remedy: 'submit it again if you still want the answer',
  },
} as const satisfies Readonly<Record<string, Cause>>
