import { expect, it } from 'vitest'
import type { Client } from '../../../lib/client/client.ts'
import { type AcceptedInference, UncommittedError } from '../../../lib/client/inference.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runInference } from '../../../web/playground/run-inference.ts'
import { afterNews, newRun, type Run } from '../../../web/playground/run-state.ts'

const wish = { prompt: 'Why?', model: 'openai:test', quorum: 3, maxOutputTokens: 8 }
const away = new SvcError('chain-unavailable', 'The chain RPC is away', { hint: 'Try again.' })
const answer = { status: 'accepted', output: 'Because.' } as AcceptedInference

async function runOf(infer: () => Promise<AcceptedInference>): Promise<Run> {
  const context = { api: { getJwks: () => Promise.reject(away) } }
  const client = { network: { chain_id: 31_337 }, context, infer } as unknown as Client
  let run = newRun()
  const connecting = Promise.resolve({ client, stop: () => {} })
  await runInference(
    connecting,
    wish,
    (news) => {
      run = afterNews(run, news)
    },
    new AbortController().signal,
  )
  return run
}

it.each([
  ['is not seen on chain', () => Promise.reject(new UncommittedError(answer, away))],
  ['cannot be checked a second time', () => Promise.resolve(answer)],
])('a checked answer is shown when it %s', async (_, infer) => {
  expect(await runOf(infer)).toMatchObject({
    status: 'failed',
    failure: { code: 'chain-unavailable', hint: 'Try again.' },
    inference: { output: 'Because.' },
    checks: [],
  })
})

it('without a checked answer there is only the failure', async () => {
  const run = await runOf(() => Promise.reject(away))
  expect(run).toMatchObject({ status: 'failed', failure: { code: 'chain-unavailable' } })
  expect(run.inference).toBeUndefined()
})
