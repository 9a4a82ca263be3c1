import { describe, expect, it } from 'vitest'
import { planRegistration, stakeIn } from '../../../node/commands/plan-registration.ts'

const terms = { minStake: 100n, now: 10_000_000 }
const registered = {
  stake: 100n,
  modelTiers: [0],
  lastHeartbeat: terms.now - 60,
  unbondingAt: 0,
  pendingSlashes: 0,
  slashed: 0n,
  active: true,
}

describe('the plan of a registration', () => {
  it('registers a newcomer with the least, or with what is wanted', () => {
    expect(planRegistration(undefined, terms, {})).toEqual([
      { call: 'register', tiers: [0], value: 100n },
    ])
    const wanted = { stake: 500n, tiers: [1, 2] }
    expect(planRegistration(undefined, terms, wanted)).toEqual([
      { call: 'register', tiers: [1, 2], value: 500n },
    ])
  })

  it('is empty when all is as wanted; a smaller stake takes nothing out', () => {
    expect(planRegistration(registered, terms, {})).toEqual([])
    const rich = { ...registered, stake: 900n }
    expect(planRegistration(rich, terms, { stake: 100n, tiers: [0] })).toEqual([])
  })

  it('makes good what is missing, in an order that the contract takes', () => {
    const poor = {
      ...registered,
      stake: 40n,
      unbondingAt: 9_000_000,
      lastHeartbeat: terms.now - 11 * 86_400,
    }
    const steps = planRegistration(poor, terms, { tiers: [0, 1] })
    expect(steps.map(({ call }) => call)).toEqual([
      'cancelUnbonding',
      'addStake',
      'setModelTiers',
      'heartbeat',
    ])
    expect(stakeIn(steps)).toBe(60n)
  })
})
