import { expect, it } from 'vitest'
import type { ReputationCode } from '../../lib/reputation.ts'
import { walletOf } from '../icl/test-icl.ts'
import { cheatName, honestName, playAttack } from './play-attack.ts'
import { weighedAttacks } from './weighed.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)
const length = { days: 2, honestNodes: 6, clients: 5, jobsPerDay: 8, ownJobsPerDay: 5 }

async function play(name: string) {
  const attack = weighedAttacks.find((one) => one.name === `weighed: ${name}`)
  if (!attack) throw new Error(`there is no scenario ${name}`)
  const outcome = await playAttack(attack, seed, length)
  expect([seed, outcome.broken]).toEqual([seed, []])
  const codesOf = (node: string): readonly ReputationCode[] =>
    outcome.events.filter((one) => one.node === walletOf(node).address).map(({ code }) => code)
  const honest = Array.from({ length: length.honestNodes }, (_, index) => honestName(index))
  return { ...outcome, codes: codesOf(cheatName(0)), honestCodes: honest.flatMap(codesOf) }
}

it('honest nodes on unlike machines gain weight, though their answers differ', async () => {
  const { honestWeights, honestCodes } = await play('unlike machines')
  expect([seed, Math.min(...honestWeights) > 100]).toEqual([seed, true])
  expect(honestCodes).toContain('answer-likely')
  expect(honestCodes).not.toContain('numbers-odd')
}, 600_000)

it('a node with a weaker model falls below every honest node', async () => {
  const { codes, honestWeights, cheatWeights } = await play('Q4_0')
  expect(codes).toContain('answer-unlikely')
  expect([seed, Math.max(...cheatWeights) < Math.min(...honestWeights)]).toEqual([seed, true])
}, 600_000)

it('a text of no model that is likely by itself is held against its node as it contradicts the others', async () => {
  const { codes } = await play('likely filler')
  expect(codes).toContain('answer-contradicted')
  expect(codes).not.toContain('answer-likely')
}, 600_000)

it.each(['checker that abstains', 'silent checker', 'lazy checker', 'copying checker'])(
  'a %s gains nothing by its answers',
  async (name) => {
    const { codes, cheatWeights, honestCodes } = await play(name)
    const isOdd = name === 'lazy checker' || name === 'copying checker'
    expect(codes.includes('numbers-odd')).toBe(isOdd)
    expect(honestCodes).not.toContain('numbers-odd')
    expect(codes.filter((code) => code === 'answer-agreed' || code === 'answer-delivered')).toEqual(
      [],
    )
    expect(Math.max(...cheatWeights)).toBeLessThanOrEqual(100)
  },
  600_000,
)
