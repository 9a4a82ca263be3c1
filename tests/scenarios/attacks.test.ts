import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { brokenPromises } from './attack-table.ts'
import { attacks } from './attacks.ts'
import { gasOf } from './gas.ts'
import { type AttackOutcome, playAttack } from './play-attack.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)
const length = { days: 1, honestNodes: 6, clients: 5, jobsPerDay: 6, ownJobsPerDay: 5 }

const play = async (name: string): Promise<AttackOutcome> => {
  const attack = attacks.find((one) => one.name === name)
  if (!attack) throw new Error(`there is no attack ${name}`)
  return playAttack(attack, seed, length)
}

it.each(attacks.map(({ name }) => name))(
  'in a short form, the promises hold against %s',
  async (name) => {
    const outcome = await play(name)
    expect([seed, brokenPromises(outcome)]).toEqual([seed, []])
    expect(outcome.jobs.length).toBeGreaterThan(0)
    const settled = outcome.jobs.filter(({ phase }) => phase !== 'open' && phase !== 'running')
    expect(settled).toHaveLength(outcome.jobs.length)
  },
  600_000,
)

it('gas is counted as docs/contracts.md publishes it', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/contracts.md'), 'utf8')
  const rows = [
    ['`register`, one tier', gasOf.register],
    ['`storeKey`, terms', gasOf.storeKey],
    ['`commitList`, 9 nodes, 3 with access', gasOf.commitList],
    ['`storeKey`, output key, 3 readers', gasOf.storeOutputKey],
  ] as const
  for (const [name, gas] of rows) {
    const cell = page.split('\n').find((line) => line.startsWith(`| ${name} `))
    expect([name, cell?.includes(` ${gas.toLocaleString('en')} `)]).toEqual([name, true])
  }
})
