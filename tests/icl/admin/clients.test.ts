import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Job } from '../../../icl/rules/job.ts'
import { aJobId } from '../../branded.ts'
import { accepted, decidedJob, nodeAddress, sampleJob } from '../rules/sample-job.ts'
import { admin, file, freshStore, store } from './admin-store.ts'

freshStore()

const [client, other] = [nodeAddress('9'), nodeAddress('8')]
const acceptedJob = accepted(decidedJob('a', 'a', 'a'), 20)
const outputCid = acceptedJob.agreement!.turns[0]!.delivery!.body.output_cid

const put = (digit: string, change: Partial<Job>, job = acceptedJob) =>
  store.save({
    kind: 'job',
    job: { ...job, id: aJobId(`0x${digit.repeat(64)}`), outbox: [], ...change },
    base: 0,
  })
const putBlob = (cid: string, uploader: 'wallet' | 'node') =>
  store.save({
    kind: 'blob',
    cid,
    bytes: new TextEncoder().encode(`of ${cid}`),
    uploader,
    until: 9e15,
  })
const putClient = (address: typeof client) =>
  store.save({ kind: 'client', client: { address, firstAcceptedAt: 1 }, base: 0 })
const isThere = async (digit: string) =>
  (await store.findJob(aJobId(`0x${digit.repeat(64)}`))) !== undefined

describe('clients erase', () => {
  it('shows what there is, and erases nothing, without --yes', async () => {
    await put('1', { promptCid: 'prompt-1' })
    await putClient(client)
    const { code, text } = await admin(['clients', 'erase', client])
    expect(code).toBe(0)
    expect(text).toMatch(/settled jobs.* 1 +would be erased/)
    expect(text).not.toMatch(/\d +erased/)
    expect(text).toContain(`admin clients erase ${client} --yes`)
    expect([await isThere('1'), await store.findClient(client)]).toEqual([
      true,
      expect.objectContaining({ version: 1 }),
    ])
    expect((await admin(['audit'])).text).not.toContain(client)
  })

  it('erases jobs, blobs and the record of one client, and leaves those of others', async () => {
    await put('1', {
      promptCid: 'prompt-1',
      webhook: { url: 'https://hook.test/secret-path' } as never,
    })
    await put('2', { client: other, promptCid: 'prompt-2' })
    for (const cid of ['prompt-1', 'prompt-2']) await putBlob(cid, 'wallet')
    for (const address of [client, other]) await putClient(address)
    const { code, text } = await admin(['clients', 'erase', client, '--yes'])
    expect(code).toBe(0)
    expect(text).toContain('1 jobs, 1 sealed prompts and answers and its record')
    expect([await isThere('1'), await isThere('2')]).toEqual([false, true])
    expect(await store.findBlob('prompt-1')).toBeUndefined()
    expect(await store.findBlob('prompt-2')).toBeDefined()
    expect(await store.findClient(client)).toBeUndefined()
    expect(await store.findClient(other)).toBeDefined()
    expect((await admin(['audit'])).text).toContain(`clients erase ${client} --yes`)
    expect((await admin(['clients', 'erase', client])).code).toBe(1)
    await store.close()
    const bytes = readFileSync(file)
    for (const gone of ['of prompt-1', 'secret-path']) expect(bytes.includes(gone)).toBe(false)
    expect(bytes.includes('of prompt-2')).toBe(true)
  })

  it('keeps a blob that a job of another client names, too', async () => {
    await put('1', { promptCid: 'copied' })
    await put('2', { client: other, promptCid: 'copied' }, sampleJob())
    for (const cid of ['copied', outputCid]) await putBlob(cid, 'node')
    const { text } = await admin(['clients', 'erase', client, '--yes'])
    expect(text).toMatch(/blobs that other jobs name, too +1 +stay/)
    expect(await store.findBlob('copied')).toBeDefined()
    expect(await store.findBlob(outputCid)).toBeUndefined()
  })

  it('leaves jobs that run or have effects to deliver, and the record, for later', async () => {
    await put('1', {})
    await put('2', { promptCid: 'running' }, sampleJob())
    await put('3', {
      outbox: [{ id: 1, effect: { type: 'commit-result' }, attempts: 0, dueAt: 1 }],
    })
    await putClient(client)
    const { text } = await admin(['clients', 'erase', client, '--yes'])
    expect(text).toMatch(/jobs that run or have effects to deliver +2 +stay/)
    expect([await isThere('1'), await isThere('2'), await isThere('3')]).toEqual([
      false,
      true,
      true,
    ])
    expect(await store.findClient(client)).toBeDefined()
  })

  it('reads more jobs than a page has', async () => {
    for (let at = 0; at < 405; at++) {
      const id = aJobId(`0x${at.toString(16).padStart(64, '0')}`)
      await put('0', { id, createdAt: at % 3 })
    }
    const { text } = await admin(['clients', 'erase', client, '--yes', '--json'])
    expect(JSON.parse(text)).toMatchObject({ erased: true, jobs: 405, open_jobs: [] })
    expect(await store.countJobsOfClient(client, { since: 0 })).toBe(0)
  })
})
