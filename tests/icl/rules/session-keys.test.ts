import { describe, expect, it } from 'vitest'
import type { Job } from '../../../icl/rules/job.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortTurnBy,
  committed,
  decidedJob,
  deliverBy,
  delivered,
  inTurn,
  nodeA,
  nodeB,
  nodeC,
  refusalOf,
  revealBy,
  sampleJob,
  signedWith,
  take,
  verdictBy,
} from './sample-job.ts'

const agreed = decidedJob('x', 'x', 'x')
const [first, second, third] = inTurn(agreed) as [Address, Address, Address]
const open = delivered(agreed, 20)
const key = 'of both'

const bound = committed(
  sampleJob(),
  [
    [nodeA, 'x'],
    [nodeB, 'x'],
    [nodeC, 'x'],
  ],
  10,
)

/** Jobs in which a node has signed one statement with a key, and a node that has not. */
const jobs: Readonly<Record<string, readonly [Job, Address]>> = {
  'an answer': [take(bound, signedWith(revealBy(bound, nodeA, 'x'), key), 10), nodeB],
  'a delivery': [take(agreed, signedWith(deliverBy(agreed, first), key), 20), second],
  'a verdict': [take(open, signedWith(verdictBy(open, second, 'match'), key), 30), third],
  'a turn that was given back': [
    take(agreed, signedWith(abortTurnBy(agreed, first), key), 20),
    second,
  ],
}

describe('a session key that another node of the job has signed with', () => {
  it.each(Object.entries(jobs))('(%s) signs no statement', (_, [job, node]) => {
    for (const command of [
      revealBy(job, node, 'x'),
      deliverBy(job, node),
      verdictBy(job, node, 'match'),
      abortTurnBy(job, node),
    ]) {
      const { type } = command
      const refusal = refusalOf(job, signedWith(command, key), 40)
      expect([type, refusal]).toEqual([type, 'statement-mismatch'])
      expect(refusalOf(job, command, 40)).not.toBe(refusal)
    }
  })
})
