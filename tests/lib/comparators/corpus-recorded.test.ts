import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { benchReal } from '../../bench/comparators/bench-real.ts'
import { weaker } from '../../bench/comparators/cheats.ts'
import { type Findings, writeFindings } from '../../bench/comparators/findings.ts'
import { diverged } from '../../bench/comparators/honest-repeats.ts'
import { drawBase } from '../../bench/comparators/made-cases.ts'
import type { Triple } from '../../bench/comparators/pairs-file.ts'
import { createDice } from '../../simulation/dice.ts'

let folder: string
let findings: Findings

/** Answers as a provider might give them: equal in part, diverging in part, and a weaker model's. */
function madeTriples(seed: number): Triple[] {
  const dice = createDice(seed)
  const { answer, text } = drawBase(dice, 80)
  const { prompt } = answer.question
  const honest: Triple = {
    name: 'made',
    kind: 'H',
    q: prompt,
    p: prompt,
    l: diverged(answer, 0.4, dice),
    v1: text,
    v2: diverged(answer, 0.4, dice),
  }
  return [honest, { ...honest, kind: 'D', l: weaker(answer, dice) }]
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-recorded-'))
  const lines = Array.from({ length: 12 }, (_, seed) => madeTriples(seed)).flat()
  const path = join(folder, 'pairs.jsonl')
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  findings = await benchReal(path, 1, [comparators.exact, comparators['similar/1']])
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the bench on recorded answers', () => {
  it('shows both halves of the questions, each case and what two verifiers say together', () => {
    for (const words of [
      'similar/1, held-out half of the questions: match, %',
      'similar/1, half that thresholds were chosen on: no-match, %',
      'honest: another run of the model',
      'weaker model',
      'spliced: half real, half weaker',
      'either of two',
    ]) {
      expect(findings.text).toContain(words)
    }
    expect(findings.text).not.toContain('NaN')
  })

  it('finds more honest leaders than weaker ones that match a verifier', () => {
    const line = (name: string) =>
      findings.text
        .split('\n')
        .filter((row) => row.startsWith(`${name}  `) && row.includes(']'))
        .map((row) => Number(/\d+\.\d/.exec(row.slice(name.length))?.[0]))
    const [honest, weak] = [line('another run of the model').at(-1), line('weaker model').at(-1)]
    expect(honest).toBeGreaterThan(50)
    expect(weak).toBeLessThan(20)
  })

  it('writes its figures and its plots where they are wanted', async () => {
    const [json, plots] = [join(folder, 'all.json'), join(folder, 'plots')]
    await writeFindings(findings, { json, plots })
    expect(JSON.parse(await readFile(json, 'utf8'))).toHaveProperty(['real', 'similar/1', 'halves'])
    expect((await readdir(plots)).toSorted()).toEqual([
      'comparators-real-exact.svg',
      'comparators-real-similar-1.svg',
      'comparators-trade-off-similar-1.svg',
    ])
    for (const name of await readdir(plots)) {
      const svg = await readFile(join(plots, name), 'utf8')
      expect(svg).toMatch(/^<svg [^>]+>[\s\S]+<\/svg>\n$/)
      expect(svg).not.toContain('NaN')
    }
  })
})
