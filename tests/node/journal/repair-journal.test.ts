import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobId } from '../../../lib/codecs.ts'
import { repair } from '../../../node/commands/repair.ts'
import { openHistory } from '../../../node/journal/history.ts'
import { openJournal } from '../../../node/journal/journal-file.ts'
import type { JournalStep } from '../../../node/journal/steps.ts'
import { aJobId } from '../../branded.ts'
import { createControl, findPreload } from '../../durability/preload.ts'
import { quietContext } from '../commands/context.ts'
import { createJobWorld } from '../job-world.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-repair-'))
  path = join(folder, 'journal.jsonl')
})
afterEach(() => rm(folder, { recursive: true }))

const { assignment, delivered } = await createJobWorld('leader')
const toCheck = await delivered('Four.')
const answer = { ...toCheck.answer.body, signature: toCheck.answer.signature }
const delivery = { ...toCheck.delivery.body, signature: toCheck.delivery.signature }
const idOf = (digit: number): JobId => aJobId(`0x${digit.toString(16).padStart(64, '0')}`)
const started = (digit: number): JournalStep => {
  const jobId = idOf(digit)
  return { step: 'started', jobId, fence: 1, at: 5, assignment: { ...assignment, jobId } }
}
const answerOf = (digit: number): JournalStep => {
  const jobId = idOf(digit)
  return { step: 'answer', jobId, fence: 1, answer: { ...answer, jobId, fence: 1 } }
}

async function run() {
  const context = quietContext({ SVC_CONFIG_PATH: join(folder, 'config.json') })
  await repair({ json: true }, context)
  return JSON.parse(context.printed.join(''))
}

/** A journal with jobs 1 (running), 2 (answered), 3 (its answer cannot be read), and 4, of which only the history knows. */
async function damage() {
  const asked: JournalStep = { step: 'asked', jobId: idOf(1), fence: 1 }
  const journal = openJournal(path)
  for (const step of [started(1), started(2), answerOf(2), started(3), answerOf(3), asked])
    journal.note(step)
  journal.close()
  const lines = readFileSync(path, 'utf8').split('\n')
  lines[4] = lines[4]!.replace('"step":"answer"', '"step":"\u0000"')
  writeFileSync(path, lines.join('\n'))
  const history = openHistory(join(folder, 'jobs.jsonl'))
  history.append({
    ...{ jobId: idOf(4), fence: 1, role: 'leader', model_id: assignment.model_id },
    ...{ started_at: 5, outcome: 'running' },
  })
  history.close()
}

describe('svc-node repair', () => {
  it('lets nothing be signed that may have been signed, and sends again what was', async () => {
    await damage()
    expect(() => openJournal(path)).toThrow('is damaged')
    const damaged = readFileSync(path, 'utf8')
    const copy = `${path}.damaged-1`
    expect(await run()).toEqual({ damaged_lines: 1, copy, guarded_assignments: 4 })
    expect(readFileSync(copy, 'utf8')).toBe(damaged)
    const journal = openJournal(path)
    journal.close()
    expect(
      [1, 2, 3, 4, 5].map((digit) => journal.isSigned({ jobId: idOf(digit), fence: 1 })),
    ).toEqual([true, true, true, true, false])
    expect(journal.unfinished).toMatchObject([{ answer: { jobId: idOf(2) } }])
    expect(journal.askedFor(idOf(1))).toBe(1)
    // A delivery of it may be among what cannot be read.
    const jobId = idOf(2)
    expect(journal.hasSigned({ step: 'delivery', jobId, fence: 1, delivery })).toBe(true)
  })

  const preload = findPreload()
  const withPreload = 'path' in preload ? it : it.skip
  const note = 'missing' in preload ? `: ${preload.missing}` : ''
  withPreload(`replaces nothing until the copy of it is on the disk${note}`, async () => {
    await damage()
    const damaged = readFileSync(path, 'utf8')
    const copies = `${path}.damaged-`
    const control = createControl('path' in preload ? preload.path : '', `${folder}.c`, copies)
    control.refuse(undefined, 'EIO')
    const main = join(import.meta.dirname, '..', '..', '..', 'node', 'main.ts')
    const env = { ...process.env, ...control.env, SVC_CONFIG_PATH: join(folder, 'config.json') }
    const { status, stderr } = spawnSync(process.execPath, [main, 'repair'], { env })
    await rm(`${folder}.c`)
    expect(status).not.toBe(0)
    expect(String(stderr)).toContain('EIO')
    expect(readFileSync(path, 'utf8')).toBe(damaged)
  })

  it('keeps every damaged file, and touches no whole one', async () => {
    await damage()
    await run()
    appendFileSync(path, 'garbage\n')
    expect((await run()).copy).toBe(`${path}.damaged-2`)
    expect(await run()).toEqual({ damaged_lines: 0, copy: null, guarded_assignments: 0 })
    expect((await readdir(folder)).sort()).toEqual([
      'jobs.jsonl',
      'journal.jsonl',
      'journal.jsonl.damaged-1',
      'journal.jsonl.damaged-2',
      'run.lock',
    ])
  })
})
