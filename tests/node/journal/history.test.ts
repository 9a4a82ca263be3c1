import { appendFileSync, readdirSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  historyPathOf,
  type JobRecord,
  openHistory,
  readHistory,
} from '../../../node/journal/history.ts'
import { aJobId } from '../../branded.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-history-'))
  path = historyPathOf(join(folder, 'config.json'))
})
afterEach(() => rm(folder, { recursive: true }))

const record = (digit: number, change: Partial<JobRecord> = {}): JobRecord => ({
  jobId: aJobId(`0x${digit.toString(16).padStart(64, '0')}`),
  role: 'leader',
  model_id: 'openai:x',
  fence: 1,
  started_at: digit,
  outcome: 'running',
  ...change,
})

describe('the history', () => {
  it('has nothing before the first job', async () => {
    expect(await readHistory(path)).toEqual([])
  })

  it('shows the latest line of each job, in the order of their starts', async () => {
    const history = openHistory(path)
    history.append(record(1))
    history.append(record(2))
    history.append(record(2, { fence: 3 }))
    history.append(record(1, { ended_at: 9, outcome: 'aborted', reason: 'node-failed' }))
    expect(await readHistory(path)).toEqual([
      record(1, { ended_at: 9, outcome: 'aborted', reason: 'node-failed' }),
      record(2),
      record(2, { fence: 3 }),
    ])
    expect(await readHistory(path, 1)).toEqual([record(2, { fence: 3 })])
    expect(await readHistory(path, 0)).toEqual([])
    history.close()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('adds up what the answers of a job took, however it ends', async () => {
    const usage = { input_tokens: 24, output_tokens: 6 }
    const history = openHistory(path)
    history.append(record(1, { usage: { input_tokens: 12, output_tokens: 3 } }))
    history.append(record(1, { usage: { input_tokens: 12, output_tokens: 3 } }))
    history.append(record(1, { outcome: 'answered', ended_at: 9 }))
    history.close()
    expect(await readHistory(path)).toEqual([
      record(1, { outcome: 'answered', ended_at: 9, usage }),
    ])
  })

  it('skips bad lines and tells how many; a torn one does not spoil the next', async () => {
    const history = openHistory(path)
    history.append(record(1))
    history.close()
    appendFileSync(path, '{"jobId":"0x12\n{"jobId":')
    const again = openHistory(path)
    again.append(record(2))
    again.close()
    const onSkipped = vi.fn()
    expect(await readHistory(path, 10, onSkipped)).toEqual([record(1), record(2)])
    expect(onSkipped).toHaveBeenCalledWith(2)
  })

  it('says which file cannot be used, and what may be done with it', async () => {
    await mkdir(path)
    const problem = {
      code: 'history-unusable',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('may be moved away'),
    }
    expect(() => openHistory(path)).toThrow(expect.objectContaining(problem))
    await expect(readHistory(path)).rejects.toMatchObject(problem)
  })

  it('stays bounded and keeps the newest', async () => {
    const history = openHistory(path)
    const reason = 'x'.repeat(1_000)
    for (let digit = 0; digit < 3_000; digit++) history.append(record(digit, { reason }))
    history.close()
    const files = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
    expect(files.length).toBe(2)
    for (const size of files) expect(size).toBeLessThanOrEqual(1024 * 1024)
    const kept = await readHistory(path)
    expect(kept.at(-1)?.started_at).toBe(2_999)
    expect(kept.length).toBeGreaterThan(800)
  })
})
