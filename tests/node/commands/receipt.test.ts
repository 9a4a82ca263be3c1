import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Check } from '../../../lib/host/checks.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import type { AckStatement } from '../../../lib/schemas/statements.ts'
import { statementBytes, statementHash } from '../../../lib/statements.ts'
import type { Given } from '../../../node/commands/options.ts'
import { aHash, aJobId } from '../../branded.ts'
import { runJob } from '../../icl/run-job.ts'
import { createTestIcl, joinNode } from '../../icl/test-icl.ts'
import { attested } from '../../lib/attested.ts'
import { makeReceipt, tallyKey } from '../../lib/make-receipt.ts'
import { runHere } from '../run-here.ts'
import { checkFile, quietContext } from './context.ts'

const folder = await mkdtemp(join(tmpdir(), 'svc-receipt-'))
const icl = await createTestIcl()
const nodes = await Promise.all(['n1', 'n2', 'n3'].map((name) => joinNode(icl, name)))
const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
const receipt = await job.api.getReceipt(
  { params: { jobId: job.jobId } },
  { readToken: job.readToken },
)
const iclKey = receipt.tally.key
await icl.stop()
const text = JSON.stringify(z.encode(Receipt, receipt))
afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** What `receipt verify` finds in a file with this text. */
async function verify(content: string, flags: Partial<Given<'receipt'>> = {}) {
  const path = join(folder, 'receipt.json')
  await writeFile(path, content)
  const context = quietContext({})
  const code = await checkFile(path, { ...flags, json: true }, context)
  const { verdict, not_checked, checks, receipt_hash } = JSON.parse(context.printed.join('')) as {
    verdict: string
    not_checked: readonly string[]
    checks: readonly Check[]
    receipt_hash?: string
  }
  const failed = checks.filter(({ status }) => status === 'failed')
  return { code, verdict, not_checked, checks, receipt_hash, failed }
}

describe('svc-node receipt verify', () => {
  it('accepts a receipt without a network, and gives its hash', async () => {
    const { code, verdict, not_checked, checks, receipt_hash } = await verify(text)
    expect([code, verdict, receipt_hash]).toEqual([0, 'consistent', await receiptHash(receipt)])
    expect(not_checked.join()).toMatch(/chain.*--rpc.*--gateway.*--icl-key.*--with.*stake/)
    expect(checks.map(({ name, status }) => [name, status])).toEqual([
      ['form', 'ok'],
      ['content', 'ok'],
      ['acks', 'skipped'],
      ['chain', 'skipped'],
      ['list', 'skipped'],
      ['draw', 'skipped'],
    ])
    expect((await verify(JSON.stringify(JSON.parse(text), null, 2))).code).toBe(0)
  })

  it('says that numbers of a text are attested, and cannot be computed again', async () => {
    const path = join(folder, 'attested.json')
    const { receipt: bare } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    await writeFile(path, JSON.stringify(z.encode(Receipt, await attested(bare))))
    const context = quietContext({})
    expect(await checkFile(path, {}, context)).toBe(0)
    expect(context.printed.join('\n')).toMatch(
      /Attested, and not to be computed again without the provider: 0x\w+ 32 of 40 tokens/,
    )
  })

  it('refuses a receipt with any changed byte, and names the check', async () => {
    const bytes = [...text]
    const names = new Set<string>()
    // Every byte would take minutes; this stride meets every part of the receipt.
    for (let at = 0; at < bytes.length; at += 97) {
      const changed = bytes.with(at, bytes[at] === '1' ? '2' : '1').join('')
      const { code, failed } = await verify(changed)
      expect([at, changed.slice(at - 9, at + 9), code]).toEqual([
        at,
        changed.slice(at - 9, at + 9),
        1,
      ])
      expect(failed).toHaveLength(1)
      for (const { name } of failed) names.add(name)
    }
    expect(names).toEqual(new Set(['content', 'form']))
  })

  it('refuses what the hash does not cover', async () => {
    const withMore = text.replace('{"version":4,', '{"version":4,"note":"trust me",')
    expect((await verify(withMore)).failed[0]?.detail).toContain('fields that no receipt has')
    const upper = text.replace(receipt.client, receipt.client.toUpperCase().replace('0X', '0x'))
    expect((await verify(upper)).failed[0]?.detail).toContain('another spelling')
  })

  it('refuses a field that comes twice, and other spellings of a number or text', async () => {
    const spellings = [
      text.replace('{"version":4,', '{"version":3,"version":4,'),
      text.replace('"version":4,', '"version":4.0,'),
      text.replace('"max_output_tokens":1024', '"max_output_tokens":1.024e3'),
      text.replace('"comparator":"e', '"comparator":"\\u0065'),
      text.replace('"version"', '"\\u0076ersion"'),
    ]
    for (const spelling of spellings) {
      expect(spelling).not.toBe(text)
      const { code, failed } = await verify(spelling)
      expect([code, failed[0]?.detail]).toEqual([1, expect.stringContaining('another spelling')])
    }
  })

  it('tells people, too, what it did not check', async () => {
    const path = join(folder, 'told.json')
    await writeFile(path, text)
    const context = quietContext({})
    expect(await checkFile(path, {}, context)).toBe(0)
    const told = context.printed.join('\n')
    expect(told).toMatch(/Not checked: .*--rpc/)
    expect(told).toContain('The receipt is consistent')
    expect(told).not.toMatch(/holds\.|valid/)
  })

  it("holds the tally against the ICL's key", async () => {
    expect((await verify(text, { iclKey })).code).toBe(0)
    const { failed } = await verify(text, { iclKey: receipt.answers[0]!.session.key })
    expect(failed[0]?.detail).toContain('the tally key is not one of the ICL')
  })

  it('compares it with acknowledgements of the ICL: one, or one a line', async () => {
    const { receipt: made } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    const { body: answer } = made.answers[0]!
    const { address, fence, jobId } = answer
    const key = await tallyKey()
    const ackOf = async (changes: Partial<AckStatement> = {}) => {
      const body: AckStatement = {
        ...{ statement: 'svc-ack-v2', jobId, address, fence, step: 'reveal', at: 1 },
        body_hash: await statementHash(answer),
        ...changes,
      }
      const signature = await key.sign(statementBytes(body))
      return JSON.stringify({ body, key: key.publicKey, signature })
    }
    const path = join(folder, 'acks.jsonl')
    const against = async (...lines: readonly string[]) => {
      await writeFile(path, lines.join('\n'))
      return await verify(JSON.stringify(z.encode(Receipt, made)), { with: path })
    }
    const other = aHash(`0x${'1'.repeat(64)}`)
    const [good, elsewhere] = [await ackOf(), await ackOf({ jobId: aJobId(other) })]
    const told = { name: 'acks', status: 'ok', detail: expect.stringContaining('(1 of 1 ') }
    const alone = await against(good)
    expect([alone.code, alone.checks[2]]).toEqual([0, told])
    expect(alone.not_checked.join()).not.toContain('--with')
    const both = await against(good, elsewhere, '')
    expect(both.checks[2]?.detail).toContain('(1 of 2 ')
    const lied = await against(elsewhere, await ackOf({ body_hash: other }))
    expect([lied.code, lied.verdict, lied.failed[0]?.detail]).toEqual([
      ...[1, 'invalid'],
      expect.stringContaining('the receipt has another answer of it'),
    ])
    const forged = good.replace('"at":1', '"at":2')
    for (const wrong of [[forged], ['{}'], [good, 'x']]) {
      await expect(against(...wrong)).rejects.toMatchObject({ code: 'ack-invalid' })
    }
    await rm(path)
    await expect(verify(text, { with: path })).rejects.toMatchObject({ code: 'file-unreadable' })
  })

  it('asks nobody about a receipt that does not hold by itself', async () => {
    const forged = text.replace(`"group":7`, `"group":3`)
    expect(forged).not.toBe(text)
    // Without --result-registry the receipt itself would say whom to ask.
    const { code, checks, failed } = await verify(forged, { rpc: ['http://127.0.0.1:9'] })
    expect([code, failed.map(({ name }) => name), checks[2]?.status]).toEqual([
      1,
      ['content'],
      'skipped',
    ])
  })

  it.each([
    ['--rpc', 'localhost'],
    ['--rpc', 'http://['],
    ['--icl-key', 'short'],
    ['--result-registry', '0x1'],
    ['--prompt-key-store', '0x1'],
    ['--gateway', 'localhost'],
  ])('is a usage error with %s %s', async (...option) => {
    const { code, err } = await runHere(['receipt', 'verify', '/nowhere', ...option], {})
    expect([code, err]).toEqual([2, expect.stringContaining(`error: ${option[0]} `)])
  })

  it('says that a file cannot be read', async () => {
    const work = checkFile('/nowhere', {}, quietContext({}))
    await expect(work).rejects.toMatchObject({ code: 'file-unreadable' })
  })
})
