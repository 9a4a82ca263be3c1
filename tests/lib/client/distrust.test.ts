import { describe, expect, it } from 'vitest'
import { quietProgress } from '../../../client/infer/progress.ts'
import { tellUncommitted } from '../../../client/infer/tell-answer.ts'
import { infer } from '../../../lib/client/infer.ts'
import { UncommittedError } from '../../../lib/client/inference.ts'
import type { ComparatorId } from '../../../lib/codecs.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { aHash } from '../../branded.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'

const codeOf = async (options: FakeOptions, comparator?: ComparatorId): Promise<unknown> => {
  const { context } = await createFakeWorld(options)
  return await infer(context, 'Why?', { model: 'openai:gpt-4o-mini', comparator }).then(
    ({ status }) => status,
    (error: { code?: unknown }) => error.code,
  )
}

describe('what the client does not believe', () => {
  it.each(['exact', 'similar/2'] as const)(
    'an output that is not the one the quorum agreed on, by %s',
    async (comparator) => {
      for (const delivered of ['something else', '**answer** to Why?']) {
        expect(await codeOf({ delivered }, comparator)).toBe('output-mismatch')
      }
    },
  )

  const changes: Record<string, (receipt: Receipt) => Receipt> = {
    'another model': (receipt) => ({
      ...receipt,
      list: { ...receipt.list, terms: { ...receipt.list.terms, model_id: 'openai:cheaper' } },
    }),
    'another length of answer': (receipt) => ({ ...receipt, max_output_tokens: 1 }),
    'one answer less': (receipt) => ({ ...receipt, answers: receipt.answers.slice(1) }),
  }
  for (const [name, changeReceipt] of Object.entries(changes)) {
    it(`a receipt with ${name}`, async () => {
      expect(await codeOf({ changeReceipt })).toBe('receipt-invalid')
    })
  }

  it('a whole and valid receipt of another job', async () => {
    const other = await createFakeWorld()
    const result = await infer(other.context, 'Why not?', { model: 'openai:gpt-4o-mini' })
    if (result.status !== 'accepted') throw new Error(result.status)
    const { receipt } = result
    expect(await receiptHash(receipt)).toBe(result.receiptHash)
    expect(await codeOf({ changeReceipt: () => receipt })).toBe('receipt-invalid')
  })

  it('a receipt hash that is not on chain', async () => {
    expect(await codeOf({ hashOnChain: aHash(`0x${'ee'.repeat(32)}`) })).toBe('commit-conflict')
  })

  it('but gives the answer that it has checked, without a transaction', async () => {
    const views: FakeOptions['views'] = ({ commit_tx: _, ...view }) => [
      { ...view, commit_tx: undefined, commit_error: 'there is no contract at 0xde' } as never,
    ]
    const { context } = await createFakeWorld({ views })
    const error = await infer(context, 'Two?', {
      model: 'openai:gpt-4o-mini',
      commitTimeoutMs: 1_000,
    }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(UncommittedError)
    const { message, hint, inference } = error as UncommittedError
    expect(message).toBe('The result was not on chain after 1 s (there is no contract at 0xde)')
    expect(hint).toMatch(/^Service operator: see the reasons in the ICL's \/readyz/)
    expect(inference).not.toHaveProperty('commitTx')
    expect(inference.output).toBeTypeOf('string')

    const told = { out: '', err: '' }
    const streams = {
      output: { write: (text: string) => (told.out += text) },
      signal: new AbortController().signal,
    }
    const progress = quietProgress({ write: (text) => (told.err += text) })
    const uncommitted = error as UncommittedError
    await tellUncommitted(uncommitted, { json: false, quiet: true }, streams, progress)
    expect(told.out).toBe(`${inference.output}\n`)
    expect(told.err).toMatch(
      /^3 of 3 agreed; the pool had 4 nodes\nwarning: this answer was checked/,
    )
    told.out = ''
    await tellUncommitted(uncommitted, { json: true, quiet: true }, streams, progress)
    expect(JSON.parse(told.out)).toMatchObject({
      ...{ status: 'accepted', output: inference.output, commit_tx: null },
      error: { code: 'commit-missing', hint },
    })
  })
})
