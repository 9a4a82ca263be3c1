import type { JobListView } from '../../../lib/schemas/list.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { aJobId } from '../../branded.ts'
import {
  altered,
  evidenceOf,
  type FalseReceipt,
  otherCid,
  otherId,
  recorded,
  said,
  stranger,
  underTerms,
} from './false-receipt.ts'

const otherJob: readonly Partial<Receipt>[] = [
  { jobId: aJobId(otherId) },
  { client: stranger },
  { client_nonce: 99n },
  { kpHighHandle: 99n },
  { kpLowHandle: 99n },
  { prompt_cid: otherCid },
  { chain_id: 1 },
]

const withList = (why: string, change: (list: JobListView) => Partial<JobListView>) =>
  recorded('good', why, ({ list }) => ({ list: { ...list, ...change(list) } }))

const firstTwo = ({ members }: JobListView) => members.slice(0, 2)

/** What is wrong with a receipt's job, list, agreement and tally. */
export const falseRecords: readonly FalseReceipt[] = [
  ...otherJob.map((change) => altered('good', 'the jobId is not that of its parts', change)),

  underTerms('good', 'its list is for another ICL', { icl_origin: 'https://b.test' }),
  withList('a node is on its list twice', (list) => ({
    members: [...firstTwo(list), ...list.members.slice(0, 1)],
  })),
  recorded('good', 'the client is on its own list', ({ list, client }) => ({
    list: { ...list, members: [...firstTwo(list), client] },
  })),
  underTerms('good', 'its list is longer than the terms allow', { list_length: 8 }),
  withList('it passes over a node that is not on its list', () => ({
    passed: [{ position: 9, reason: 'busy', at: 1 }],
  })),
  withList('a quorum of 4 needs as many nodes, and the list has 3', ({ members, terms }) => ({
    members: members.slice(0, 3),
    terms: { ...terms, quorum: 4 },
  })),
  underTerms('good', '4 answers have to match one another, and the job has at most 3', {
    max_answers: 3,
    min_matches: 3,
  }),

  recorded('split', 'batch 1 has 2 nodes, where 1 were missing', ({ answers }) => ({
    answers: answers.filter((_, at) => at !== 1),
    over: [{ position: 1, fence: 2, reason: 'never-revealed', at: 1 }],
  })),
  rebatched('batch 1 has 1 nodes, where 2 were missing', 3, 4),
  rebatched('batch 0 has 4 nodes, where 3 were missing', 4),
  rebatched('batch 0 has 2 nodes, where 3 were missing', 2),
  recorded('split', 'its answers do not agree', ({ answers, seen }) => ({
    answers: answers.slice(0, 3),
    seen: seen.slice(0, 1),
  })),
  said('split', 'its answers agreed before batch 1', async () => {
    const evidence = await evidenceOf('yes')
    return { answers: { 1: { evidence }, 2: { evidence } } }
  }),
  underTerms('any', 'its answers do not agree', { rule: 'three' }),
  underTerms('any', 'its answers do not agree', { min_matches: 2 }),
  underTerms('split', 'it has more answers than its terms allow', { max_answers: 4 }),
  said('good', 'its answers do not agree', async () => ({
    answers: { 2: { evidence: await evidenceOf('no') } },
  })),
  said('split', 'the tally has another group', { tally: { group: 0b10011 } }),

  {
    ...altered('good', 'the tally key is not one of the ICL', {}),
    iclKeys: ['A'.repeat(43)],
  },
  altered('good', 'the ICL did not sign the tally', ({ tally, answers }) => ({
    tally: { ...tally, signature: answers[0]!.signature },
  })),
  said('good', 'the tally is of another job', { tally: { jobId: aJobId(otherId) } }),
  said('good', 'the tally is of another record', { tally: { record: otherId } }),
  altered('good', 'the tally is of another record', ({ list }) => ({
    list: { ...list, passed: [{ position: 5, reason: 'busy', at: 1 }] },
  })),
  altered('split', 'the tally is of another record', ({ verdicts }) => ({
    verdicts: verdicts.toReversed(),
  })),
]

/** The five answers in other batches, which end after so many answers, and which their nodes say that they saw. */
function rebatched(why: string, ...ends: readonly number[]): FalseReceipt {
  return said('split', why, {
    seen: (seen) => [0, ...ends].map((from, at) => seen.flat().slice(from, ends[at] ?? 5)),
  })
}
