import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { comparators } from '../../lib/comparators/all.ts'
import { evidenceOf } from '../icl/node-steps.ts'
import { brokenPromises } from './attack-table.ts'
import { attacks } from './attacks.ts'
import { gasOf } from './gas.ts'
import { type AttackOutcome, playAttack } from './play-attack.ts'
import { offTopic, onTopic } from './texts.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)
const length = { days: 1, honestNodes: 6, clients: 5, jobsPerDay: 6, ownJobsPerDay: 5 }

const play = async (name: string): Promise<AttackOutcome> => {
  const attack = attacks.find((one) => one.name === name)
  if (!attack) throw new Error(`there is no attack ${name}`)
  return playAttack(attack, seed, length)
}

describe('in a short form, the promises hold against', () => {
  it.each(attacks.map(({ name }) => name))(
    '%s',
    async (name) => {
      const outcome = await play(name)
      expect([seed, brokenPromises(outcome)]).toEqual([seed, []])
      expect(outcome.jobs.length).toBeGreaterThan(0)
      const settled = outcome.jobs.filter(({ phase }) => phase !== 'open' && phase !== 'running')
      expect(settled).toHaveLength(outcome.jobs.length)
    },
    600_000,
  )
})

it('an owner without nodes that takes more than a tenth breaks the promise, and one with nodes does not', () => {
  const outcome = {
    jobs: [],
    ownJobs: 0,
    gas: 0,
    honestWeights: [],
    cheatWeights: [],
    share: [0, 0],
    halvedAfter: [],
    parts: [],
    broken: [],
    lies: { others: 0, own: 3 },
    victim: [
      { before: 100, after: 100, alone: 100 },
      { before: 100, after: 88, alone: 100 },
    ],
  } as const
  const attackOf = (count: number) => ({ name: 'an attack', nodes: count })
  expect(brokenPromises({ ...outcome, attack: attackOf(0) })).toEqual([
    expect.stringContaining('an attack: on day 2 an owner without nodes took 12.0 %'),
  ])
  expect(brokenPromises({ ...outcome, attack: attackOf(1) })).toEqual([])
  const lied = { ...outcome, attack: attackOf(2), lies: { others: 1, own: 0 } }
  expect(brokenPromises(lied)).toEqual(['an attack: 1 lies in jobs of others'])
})

it('simulated answers are to one another what they stand for', async () => {
  const { compare } = comparators['similar/2']
  const texts = [onTopic('group 0'), onTopic('group 1'), onTopic('weaker, cheat 0')]
  const others = [offTopic('heads'), offTopic('tails'), offTopic('filler of cheat 0')]
  const made = await Promise.all([...texts, ...others].map((text) => evidenceOf(text, 'similar/2')))
  for (const [one, a] of made.entries()) {
    for (const [other, b] of made.entries()) {
      const areOnTopic = one < texts.length && other < texts.length
      const wanted = one === other ? 'match' : areOnTopic ? 'inconclusive' : 'no-match'
      expect([one, other, compare(a, b)]).toEqual([one, other, wanted])
    }
  }
})

it('gas is counted as docs/contracts.md publishes it', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/contracts.md'), 'utf8')
  const rows = [
    ['`register`, one tier', gasOf.register],
    ['`storeKey`, terms', gasOf.storeKey],
    ['`commitList`, 9 nodes, 3 with access', gasOf.commitList],
    ['`storeOutputKey`, 3 readers', gasOf.storeOutputKey],
  ] as const
  for (const [name, gas] of rows) {
    const cell = page.split('\n').find((line) => line.startsWith(`| ${name} `))
    expect([name, cell?.includes(` ${gas.toLocaleString('en')} `)]).toEqual([name, true])
  }
})
