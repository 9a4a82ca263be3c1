import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobId } from '../../../lib/codecs.ts'
import { openJournal } from '../../../node/journal/journal-file.ts'
import { journalPathOf, readJournal } from '../../../node/journal/read-journal.ts'
import { lineOf } from '../../../node/journal/step-lines.ts'
import type { JournalStep, SignedStep } from '../../../node/journal/steps.ts'
import { aHash, aJobId } from '../../branded.ts'
import { createJobWorld } from '../job-world.ts'

const root = join(import.meta.dirname, '..', '..', '..')

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-journal-'))
  path = journalPathOf(join(folder, 'config.json'))
})
afterEach(() => rm(folder, { recursive: true }))

const { assignment, claim, delivered } = await createJobWorld('leader')
const toCheck = await delivered('Four.')
const answer = { ...toCheck.answer.body, signature: toCheck.answer.signature }
const delivery = { ...toCheck.delivery.body, signature: toCheck.delivery.signature }
const idOf = (digit: number): JobId => aJobId(`0x${digit.toString(16).padStart(64, '0')}`)
const started = (digit: number): JournalStep => {
  const jobId = idOf(digit)
  return { step: 'started', jobId, fence: 1, at: 5, assignment: { ...assignment, jobId } }
}
const stepOf = (digit: number, step: 'asked' | 'ended'): JournalStep => ({
  step,
  jobId: idOf(digit),
  fence: 1,
})
const reopen = () => {
  const journal = openJournal(path)
  journal.close()
  return journal
}
const unfinishedIds = () => reopen().unfinished.map((entry) => entry.assignment.jobId)

describe('the journal', () => {
  it('gives back what had not ended, with every step, oldest first', () => {
    const journal = openJournal(path)
    expect(journal.unfinished).toEqual([])
    for (const digit of [1, 2, 3]) journal.note(started(digit))
    journal.note({ step: 'claimed', jobId: idOf(3), fence: 1, claim })
    journal.note(stepOf(3, 'asked'))
    journal.note(stepOf(2, 'ended'))
    // Not closed: a killed process closes nothing.
    expect(unfinishedIds()).toEqual([idOf(1), idOf(3)])
    const [, last] = reopen().unfinished
    expect(last).toMatchObject({ startedAt: 5, asked: 1, claim })
    journal.close()
  })

  it('is for its owner only', () => {
    reopen()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('does without a torn last line, and what comes after it is whole', () => {
    const journal = openJournal(path)
    journal.note(started(1))
    journal.note(started(2))
    journal.close()
    truncateSync(path, statSync(path).size - 20)
    const again = openJournal(path)
    expect(again.unfinished.map((entry) => entry.assignment.jobId)).toEqual([idOf(1)])
    expect(again.wasTorn).toBe(true)
    again.note(started(3))
    again.close()
    expect(unfinishedIds()).toEqual([idOf(1), idOf(3)])
    expect(reopen().wasTorn).toBe(false)
  })

  it('refuses lines that are none of its own, and leaves the file as it is', () => {
    const journal = openJournal(path)
    journal.note(started(1))
    journal.close()
    appendFileSync(path, 'no JSON\n{"step":"dance"}\n{"step":"asked","jobId":"0x1","fence":1}\n')
    const before = readFileSync(path, 'utf8')
    expect(() => openJournal(path)).toThrow(
      expect.objectContaining({
        code: 'journal-damaged',
        message: expect.stringContaining('3 line(s) cannot be read, the first is line 2'),
        hint: expect.stringContaining('svc-node repair'),
      }),
    )
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  it('believes no line in which a bit was turned over, wherever that is', () => {
    const line = Buffer.from(lineOf(stepOf(1, 'asked')))
    for (let bit = 0; bit < (line.length - 1) * 8; bit++) {
      const turned = Buffer.from(line)
      turned[bit >> 3]! ^= 1 << (bit & 7)
      writeFileSync(path, Buffer.concat([turned, line]))
      expect([bit, readJournal(path).damaged.length > 0]).toEqual([bit, true])
    }
  })

  it('keeps no half of a step for which there was no room', () => {
    // With a limit for files, a write stops in its middle, as on a full disk.
    const script = `
      const { openJournal } = await import(${JSON.stringify(join(root, 'node/journal/journal-file.ts'))})
      const [started, asked] = JSON.parse(process.argv[1])
      const journal = openJournal(${JSON.stringify(path)})
      let noted = 0
      try { for (;; noted++) journal.note({ ...started, fence: noted + 1 }) } catch (error) { console.log(error.code) }
      journal.note({ ...asked, fence: 1 })
      console.log(noted)`
    const run = spawnSync(
      'sh',
      [
        ...['-c', `trap '' XFSZ; ulimit -f 40; exec "$@"`, 'sh', process.execPath, '-e', script],
        JSON.stringify([started(1), stepOf(1, 'asked')]),
      ],
      { encoding: 'utf8' },
    )
    const [code, noted] = run.stdout.split('\n')
    expect([run.stderr, code]).toEqual(['', 'journal-unwritable'])
    const again = reopen()
    expect(again.unfinished).toHaveLength(Number(noted))
    expect(again.unfinished[0]).toMatchObject({ asked: 1 })
    expect(again.wasTorn).toBe(false)
  })

  it('forgets jobs without a start', () => {
    writeFileSync(path, lineOf(stepOf(4, 'asked')))
    expect(reopen()).toMatchObject({ unfinished: [], wasTorn: false })
  })

  it('stays small while it is open, and loses nothing by that', () => {
    const journal = openJournal(path)
    journal.note(started(9_999))
    for (let digit = 0; digit < 400; digit++) {
      journal.note(started(digit))
      journal.note(stepOf(digit, 'ended'))
    }
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length
    // 801 steps were noted.
    expect(lines).toBeLessThanOrEqual(513)
    expect(unfinishedIds()).toEqual([idOf(9_999)])
    journal.close()
  })

  const answerOf = (digit: number): SignedStep => {
    const jobId = idOf(digit)
    return { step: 'answer', jobId, fence: 1, answer: { ...answer, jobId } }
  }
  const verdictOf = (digit: number, on: string): SignedStep => {
    const jobId = idOf(digit)
    const verdict = {
      ...({ statement: 'svc-verdict-v2', verdict: 'match' } as const),
      ...{ jobId, address: answer.address, fence: 1, answer: delivery.answer },
      ...{ delivery: aHash(`0x${on.repeat(32)}`), signature: answer.signature },
    }
    return { step: 'verdict', jobId, fence: 1, verdict }
  }

  it('knows which statements of a job it has signed: one verdict for each delivery', () => {
    const journal = openJournal(path)
    journal.note(started(1))
    const signed = [answerOf(1), verdictOf(1, '77')]
    for (const step of signed) journal.note(step)
    const { jobId, fence } = answerOf(1)
    const others: SignedStep[] = [
      verdictOf(1, '88'),
      { step: 'delivery', jobId, fence, delivery } as const,
      answerOf(2),
    ]
    for (const from of [journal, reopen()]) {
      expect(signed.map(from.hasSigned)).toEqual([true, true])
      expect(others.map(from.hasSigned)).toEqual([false, false, false])
    }
    journal.close()
    const again = openJournal(path)
    again.note(stepOf(1, 'ended'))
    again.close()
    // Of an ended job only that is kept: nothing more may be signed for it.
    expect(others.map(reopen().hasSigned)).toEqual([true, true, false])
    expect(reopen().unfinished).toEqual([])
  })

  it('knows what it has signed when the job has long ended, and not what it has not', () => {
    const journal = openJournal(path)
    for (const digit of [1, 2]) journal.note(started(digit))
    journal.note(answerOf(1))
    const known = (from: typeof journal) =>
      [1, 2].map((digit) => from.isSigned({ jobId: idOf(digit), fence: 1 }))
    expect(known(journal)).toEqual([true, false])
    for (const digit of [1, 2]) journal.note(stepOf(digit, 'ended'))
    expect(known(journal)).toEqual([true, false])
    for (let digit = 10; digit < 400; digit++) {
      journal.note(started(digit))
      journal.note(stepOf(digit, 'ended'))
    }
    journal.close()
    for (let restart = 0; restart < 3; restart++) expect(known(reopen())).toEqual([true, false])
    expect(reopen().isSigned({ jobId: idOf(1), fence: 2 })).toBe(false)
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(1)
  })

  it('knows how often the provider was asked for a job, under whatever fences, when it has long ended', () => {
    let journal = openJournal(path)
    const ask = (fence: number, end: boolean) => {
      const step = { jobId: idOf(1), fence }
      journal.note({ ...started(1), fence })
      journal.note({ step: 'asked', ...step })
      if (end) journal.note({ step: 'ended', ...step })
    }
    for (const fence of [1, 2, 3]) ask(fence, true)
    ask(4, false)
    for (let restart = 0; restart < 3; restart++) {
      expect(journal.askedFor(idOf(1))).toBe(4)
      expect(journal.askedFor(idOf(2))).toBe(0)
      journal.close()
      journal = openJournal(path)
    }
    ask(5, true)
    for (let digit = 10; digit < 600; digit++) {
      journal.note(started(digit))
      journal.note(stepOf(digit, 'ended'))
    }
    journal.close()
    expect(reopen().askedFor(idOf(1))).toBe(5)
    expect(reopen().unfinished).toMatchObject([{ asked: 1, assignment: { jobId: idOf(1) } }])
  })

  it('keeps as many of these as of what was signed', () => {
    const lines = Array.from({ length: 10_050 }, (_, digit) => lineOf(stepOf(digit, 'asked')))
    writeFileSync(path, lines.join(''))
    const journal = reopen()
    expect([49, 50].map((digit) => journal.askedFor(idOf(digit)))).toEqual([0, 1])
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(10_000)
  })

  it('does not grow for ever by what was signed', () => {
    const lines = Array.from({ length: 10_050 }, (_, digit) =>
      lineOf({ step: 'signed', jobId: idOf(digit), fence: 1 }),
    )
    writeFileSync(path, lines.join(''))
    const journal = reopen()
    expect(journal.isSigned({ jobId: idOf(49), fence: 1 })).toBe(false)
    expect(journal.isSigned({ jobId: idOf(50), fence: 1 })).toBe(true)
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(10_000)
  })

  it('takes its steps when there is no room to make it small', () => {
    const journal = openJournal(path)
    // Where the draft of the small one belongs.
    mkdirSync(join(`${path}.new`, 'in the way'), { recursive: true })
    for (let digit = 0; digit < 400; digit++) {
      journal.note(started(digit))
      journal.note(stepOf(digit, 'ended'))
    }
    journal.note(started(9_999))
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(801)
    rmSync(`${path}.new`, { recursive: true })
    expect(unfinishedIds()).toEqual([idOf(9_999)])
    journal.close()
  })

  it('holds as much as is unfinished', () => {
    const journal = openJournal(path)
    for (let digit = 0; digit < 600; digit++) journal.note(started(digit))
    expect(unfinishedIds()).toHaveLength(600)
    journal.close()
  })

  it('says which file cannot be used', async () => {
    await rm(folder, { recursive: true })
    writeFileSync(folder, 'a file where the folder should be')
    expect(() => openJournal(path)).toThrow(
      expect.objectContaining({
        code: 'journal-unwritable',
        message: expect.stringContaining(path),
      }),
    )
  })
})
