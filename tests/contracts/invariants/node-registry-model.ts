import type { Hex } from 'viem'
import { type Recorder, Reverted } from './outcome.ts'
import { createRolesModel, role } from './roles-model.ts'

const dayS = 86_400
const heartbeatWindowS = 11 * dayS
const unbondingS = 7 * dayS
const slashWindowS = 3 * dayS
const maxStake = 2n ** 128n - 1n
const emptyHash: Hex = `0x${'0'.repeat(64)}`

export type NodeModel = {
  stake: bigint
  slashed: bigint
  registeredAt: number
  lastHeartbeat: number
  unbondingAt: number
  pendingSlashes: number
  modelTiers: readonly number[]
}

export type SlashModel = {
  readonly operator: Hex
  readonly executableAt: number
  readonly amount: bigint
  readonly evidenceHash: Hex
  answerHash: Hex
  settled: boolean
}

/** How a receiver takes a payment: it may refuse, or use it to call back. */
export type Receives = (receiver: Hex) => 'takes' | 'refuses' | 'calls back'

const newNode = (): NodeModel => ({
  stake: 0n,
  slashed: 0n,
  registeredAt: 0,
  lastHeartbeat: 0,
  unbondingAt: 0,
  pendingSlashes: 0,
  modelTiers: [],
})

/** NodeRegistry as it is meant, in its own words: each call throws Reverted or changes the state and emits. */
export const createNodeRegistryModel = (
  terms: {
    readonly coordinator: Hex
    readonly arbiter: Hex
    readonly treasury: Hex
    readonly minStake: bigint
  },
  recorder: Recorder,
  receives: Receives,
) => {
  const { minStake, coordinator, arbiter, treasury } = terms
  const { emit } = recorder
  const roles = createRolesModel({ coordinator, arbiter, treasury }, recorder, (of, to, holders) =>
    of === role('coordinator')
      ? holders.get(role('arbiter')) !== to
      : of !== role('arbiter') || holders.get(role('coordinator')) !== to,
  )
  const nodes = new Map<Hex, NodeModel>()
  const slashes = new Map<Hex, SlashModel>()
  const state = { treasuryBalance: 0n, paidOut: 0n }

  const registered = (operator: Hex): NodeModel => {
    const node = nodes.get(operator)
    if (node === undefined || node.registeredAt === 0) throw new Reverted('NotRegistered')
    return node
  }
  const pending = (fault: Hex): SlashModel => {
    const slash = slashes.get(fault)
    if (slash === undefined || slash.settled) throw new Reverted('SlashNotPending')
    return slash
  }
  const checkTiers = (tiers: readonly number[]) => {
    const isRising = tiers.every((tier, index) => index === 0 || tier > (tiers[index - 1] ?? 0))
    if (tiers.length === 0 || tiers.length > 16 || !isRising)
      throw new Reverted('InvalidModelTiers')
  }
  const checkStake = (stake: bigint) => {
    if (stake > maxStake) throw new Reverted('InvalidAmount')
  }
  const totalStake = () => [...nodes.values()].reduce((sum, { stake }) => sum + stake, 0n)
  const checkReceives = (receiver: Hex) => {
    if (receives(receiver) === 'refuses') throw new Reverted('PaymentFailed')
  }
  const ignoringReverts = (work: () => void) => {
    try {
      work()
    } catch (error) {
      if (!(error instanceof Reverted)) throw error
    }
  }
  const pay = (receiver: Hex, amount: bigint, now: number) => {
    state.paidOut += amount
    if (receives(receiver) !== 'calls back') return
    ignoringReverts(() => model.withdraw(receiver, now))
    ignoringReverts(() => model.payTreasury(now))
  }

  const model = {
    roles,
    nodes,
    slashes,
    state,
    totalStake,
    isActive: (operator: Hex, now: number): boolean => {
      const node = nodes.get(operator)
      return (
        node !== undefined &&
        node.registeredAt !== 0 &&
        node.unbondingAt === 0 &&
        node.stake >= minStake &&
        now <= node.lastHeartbeat + heartbeatWindowS
      )
    },
    register: (caller: Hex, tiers: readonly number[], value: bigint, now: number) => {
      const before = nodes.get(caller)
      if (before && before.registeredAt !== 0) throw new Reverted('AlreadyRegistered')
      if (value < minStake) throw new Reverted('StakeTooLow')
      checkTiers(tiers)
      checkStake(value)
      nodes.set(caller, {
        ...newNode(),
        slashed: before?.slashed ?? 0n,
        stake: value,
        registeredAt: now,
        lastHeartbeat: now,
        modelTiers: tiers,
      })
      emit('Registered', caller, value, tiers)
      emit('Heartbeat', caller, now)
    },
    addStake: (caller: Hex, value: bigint) => {
      const node = registered(caller)
      if (node.unbondingAt !== 0) throw new Reverted('Unbonding')
      if (value === 0n) throw new Reverted('InvalidAmount')
      checkStake(node.stake + value)
      node.stake += value
      emit('StakeAdded', caller, value, node.stake)
    },
    setModelTiers: (caller: Hex, tiers: readonly number[]) => {
      const node = registered(caller)
      checkTiers(tiers)
      node.modelTiers = tiers
      emit('ModelTiersSet', caller, tiers)
    },
    heartbeat: (caller: Hex, now: number) => {
      registered(caller).lastHeartbeat = now
      emit('Heartbeat', caller, now)
    },
    beginUnbonding: (caller: Hex, now: number) => {
      const node = registered(caller)
      if (node.unbondingAt !== 0) throw new Reverted('Unbonding')
      node.unbondingAt = now
      emit('UnbondingBegun', caller, now + unbondingS)
    },
    cancelUnbonding: (caller: Hex) => {
      const node = registered(caller)
      if (node.unbondingAt === 0) throw new Reverted('NotUnbonding')
      node.unbondingAt = 0
      emit('UnbondingCancelled', caller)
    },
    withdraw: (caller: Hex, now: number) => {
      const node = registered(caller)
      if (node.unbondingAt === 0) throw new Reverted('NotUnbonding')
      if (now < node.unbondingAt + unbondingS) throw new Reverted('TooEarly')
      if (node.pendingSlashes !== 0) throw new Reverted('StakeFrozen')
      checkReceives(caller)
      nodes.set(caller, { ...newNode(), slashed: node.slashed })
      emit('Withdrawn', caller, node.stake)
      pay(caller, node.stake, now)
    },
    proposeSlash: (
      caller: Hex,
      [fault, operator, amount, evidenceHash]: readonly [Hex, Hex, bigint, Hex],
      now: number,
    ) => {
      roles.require(role('coordinator'), caller)
      if (fault === emptyHash || evidenceHash === emptyHash) throw new Reverted('EmptyHash')
      if (amount === 0n) throw new Reverted('InvalidAmount')
      if (slashes.has(fault)) throw new Reverted('FaultAlreadyUsed')
      const node = registered(operator)
      if (node.unbondingAt !== 0 && now >= node.unbondingAt + unbondingS) {
        throw new Reverted('UnbondingOver')
      }
      const executableAt = now + slashWindowS
      slashes.set(fault, {
        operator,
        executableAt,
        amount,
        evidenceHash,
        answerHash: emptyHash,
        settled: false,
      })
      node.pendingSlashes += 1
      emit('SlashProposed', fault, operator, amount, evidenceHash, executableAt)
    },
    answer: (caller: Hex, fault: Hex, answerHash: Hex) => {
      const slash = pending(fault)
      if (slash.operator !== caller) throw new Reverted('NotAccused')
      if (answerHash === emptyHash) throw new Reverted('EmptyHash')
      if (slash.answerHash !== emptyHash) throw new Reverted('AlreadyAnswered')
      slash.answerHash = answerHash
      emit('SlashAnswered', fault, caller, answerHash)
    },
    executeSlash: (fault: Hex, now: number) => {
      const slash = pending(fault)
      if (now < slash.executableAt) throw new Reverted('TooEarly')
      const node = registered(slash.operator)
      let { amount } = slash
      if (amount > node.stake) amount = node.stake
      slash.settled = true
      node.pendingSlashes -= 1
      node.stake -= amount
      node.slashed += amount
      state.treasuryBalance += amount
      emit('SlashExecuted', fault, slash.operator, amount)
    },
    cancelSlash: (caller: Hex, fault: Hex) => {
      roles.require(role('arbiter'), caller)
      const slash = pending(fault)
      slash.settled = true
      registered(slash.operator).pendingSlashes -= 1
      emit('SlashCancelled', fault, slash.operator)
    },
    payTreasury: (now: number) => {
      const amount = state.treasuryBalance
      if (amount === 0n) throw new Reverted('InvalidAmount')
      const receiver = roles.holderOf(role('treasury'))
      checkReceives(receiver)
      state.treasuryBalance = 0n
      emit('TreasuryPaid', receiver, amount)
      pay(receiver, amount, now)
    },
  }
  return model
}
