import {
  encodeFunctionData,
  type Hex,
  type LocalAccount,
  WaitForTransactionReceiptTimeoutError,
} from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import {
  causesOf,
  isRevert,
  lacksFunds,
  revertNameOf,
  toChainError,
} from '../../lib/chain/chain-error.ts'
import { createChainReader, createChainWriter } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { sendCall } from '../../lib/chain/send.ts'
import { Address, Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A node's registration in NodeRegistry. Amounts are wei, times Unix seconds. */
export type Registration = {
  readonly stake: bigint
  readonly modelTiers: readonly number[]
  readonly lastHeartbeat: number
  /** When unbonding began. 0 if it has not. */
  readonly unbondingAt: number
  readonly pendingSlashes: number
  readonly slashed: bigint
  readonly active: boolean
}

/** The terms of registration. Amounts are wei, times seconds. */
export type RegistryTerms = {
  readonly minStake: bigint
  readonly unbondingSeconds: number
  /** Unix seconds of the latest block. */
  readonly now: number
  /** Wei per unit of gas. */
  readonly gasPrice: bigint
}

/** The state of a wallet in NodeRegistry and on the chain. The balance is wei. */
export type RegistryState = {
  readonly terms: RegistryTerms
  /** Undefined when the node is not registered. */
  readonly registration: Registration | undefined
  readonly balance: bigint
}

/** A proposed slash. The amount is wei, the time Unix seconds. */
export type Accusation = {
  readonly operator: Address
  readonly amountWei: bigint
  /** From this time on the stake can be taken. */
  readonly executableAt: number
  readonly answerHash?: Hash32
  readonly isSettled: boolean
}

/** NodeRegistry as commands read it. Every call throws chain errors. */
export interface RegistryReader {
  terms(signal?: AbortSignal): Promise<RegistryTerms>
  /** Undefined when the node is not registered. */
  registrationOf(node: Address, signal?: AbortSignal): Promise<Registration | undefined>
  /** Terms, registration and balance together. */
  stateOf(node: Address, signal?: AbortSignal): Promise<RegistryState>
  /** Undefined when no slash was proposed for this fault. */
  accusationOf(faultId: Hash32, signal?: AbortSignal): Promise<Accusation | undefined>
  /** Returns the balance of an account in wei. */
  balanceOf(account: Address, signal?: AbortSignal): Promise<bigint>
  /** Returns how many sent transactions of an account are in no block yet, as far as the RPC knows. */
  unconfirmedOf(account: Address, signal?: AbortSignal): Promise<number>
  /** Returns the addresses that hold no contract. */
  withoutCode(contracts: readonly Address[], signal?: AbortSignal): Promise<readonly Address[]>
}

/** One transaction to NodeRegistry. Amounts are wei. */
export type RegistryStep =
  | { readonly call: 'register'; readonly tiers: readonly number[]; readonly value: bigint }
  | { readonly call: 'addStake'; readonly value: bigint }
  | { readonly call: 'setModelTiers'; readonly tiers: readonly number[] }
  | { readonly call: 'answer'; readonly faultId: Hex; readonly answerHash: Hex }
  | { readonly call: 'heartbeat' | 'beginUnbonding' | 'cancelUnbonding' | 'withdraw' }

/** An upper bound for the gas of any of these steps. `tests/contracts/gas.test.ts` checks it. */
export const registerGas = 150_000n

/** The location of NodeRegistry. */
export type RegistryEndpoint = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly nodeRegistry: Address
}

const noHash = `0x${'0'.repeat(64)}`

/** Makes a reader of NodeRegistry, which needs no wallet. */
export function createRegistryReader(place: RegistryEndpoint): RegistryReader {
  const { publicClient } = createChainReader(place)
  const contract = { address: place.nodeRegistry, abi: nodeRegistryAbi } as const
  const doing = 'reading NodeRegistry'
  const reader: RegistryReader = {
    async stateOf(node, signal) {
      const [terms, registration, balance] = await Promise.all([
        reader.terms(signal),
        reader.registrationOf(node, signal),
        reader.balanceOf(node, signal),
      ])
      return { terms, registration, balance }
    },
    async terms(signal) {
      const [minStake, unbonding, block, gasPrice] = await reading(
        doing,
        Promise.all([
          publicClient.readContract({ ...contract, functionName: 'minStake' }),
          publicClient.readContract({ ...contract, functionName: 'UNBONDING_PERIOD' }),
          publicClient.getBlock(),
          publicClient.getGasPrice(),
        ]),
        signal,
      )
      const now = Number(block.timestamp)
      return { minStake, unbondingSeconds: Number(unbonding), now, gasPrice }
    },
    async registrationOf(node, signal) {
      const read = publicClient.readContract({ ...contract, functionName: 'nodeOf', args: [node] })
      const state = await reading(doing, read, signal)
      if (state.registeredAt === 0n) return undefined
      return {
        ...state,
        lastHeartbeat: Number(state.lastHeartbeat),
        unbondingAt: Number(state.unbondingAt),
      }
    },
    async accusationOf(faultId, signal) {
      const args = [faultId] as const
      const read = publicClient.readContract({ ...contract, functionName: 'slashOf', args })
      const slash = await reading(doing, read, signal)
      if (slash.executableAt === 0n) return undefined
      return {
        operator: Address.parse(slash.operator),
        amountWei: slash.amount,
        executableAt: Number(slash.executableAt),
        isSettled: slash.settled,
        ...(slash.answerHash !== noHash && { answerHash: Hash32.parse(slash.answerHash) }),
      }
    },
    balanceOf: (address, signal) => reading(doing, publicClient.getBalance({ address }), signal),
    async unconfirmedOf(address, signal) {
      const counts = (['pending', 'latest'] as const).map((blockTag) =>
        publicClient.getTransactionCount({ address, blockTag }),
      )
      const [sent = 0, confirmed = 0] = await reading(doing, Promise.all(counts), signal)
      return Math.max(0, sent - confirmed)
    },
    async withoutCode(contracts, signal) {
      const codes = contracts.map((address) => publicClient.getCode({ address }))
      const found = await reading(doing, Promise.all(codes), signal)
      return contracts.filter((_, index) => (found[index] ?? '0x') === '0x')
    },
  }
  return reader
}

/** Sends steps from the node's wallet. Throws SvcError `no-funds`, `registry-refused`, `transaction-pending` or a chain error. */
export function createRegistrySender(
  place: RegistryEndpoint & { readonly account: LocalAccount },
): (step: RegistryStep, signal?: AbortSignal) => Promise<Hex> {
  const chain = createChainWriter(place)
  return async (step, signal) => {
    const call = { to: place.nodeRegistry, data: dataOf(step), abi: nodeRegistryAbi }
    const value = 'value' in step ? { value: step.value } : {}
    try {
      const sent = await sendCall(chain, { ...call, ...value, functionName: step.call }, signal)
      return sent.transactionHash
    } catch (error) {
      signal?.throwIfAborted()
      throw sendError(step, place.account.address.toLowerCase(), error)
    }
  }
}

function dataOf(step: RegistryStep): Hex {
  const abi = nodeRegistryAbi
  if (step.call === 'register' || step.call === 'setModelTiers') {
    return encodeFunctionData({ abi, functionName: step.call, args: [step.tiers] })
  }
  if (step.call === 'answer') {
    return encodeFunctionData({
      abi,
      functionName: step.call,
      args: [step.faultId, step.answerHash],
    })
  }
  return encodeFunctionData({ abi, functionName: step.call })
}

const stillPending = (call: string, why: string, cause: unknown): SvcError =>
  new SvcError('transaction-pending', `${call} was sent, but is in no block yet: ${why}`, {
    hint: 'It may still get into one: see `svc-node status` later, and repeat the command then.',
    retryable: true,
    cause,
  })

function sendError(step: RegistryStep, address: string, error: unknown): SvcError {
  const { call } = step
  const waiting = causesOf(error).find(
    (cause) => cause instanceof WaitForTransactionReceiptTimeoutError,
  )
  if (waiting !== undefined) return stillPending(call, waiting.shortMessage, error)
  const name = revertNameOf(error)
  if (name === undefined && lacksFunds(error)) {
    const money = 'value' in step ? 'the stake and gas money' : 'gas money'
    return new SvcError('no-funds', `the wallet cannot pay for ${call}`, {
      hint: `Send ${money} to ${address}.`,
      cause: error,
    })
  }
  if (name === undefined && !isRevert(error)) return toChainError(error, `sending ${call}`)
  const isFrozen = name === 'StakeFrozen'
  return new SvcError('registry-refused', `NodeRegistry refused ${call}: ${name ?? 'no reason'}`, {
    hint: isFrozen
      ? 'The stake is frozen while an accusation is pending. Answer it, and try again when it is settled.'
      : 'See `svc-node status`. The NodeRegistry contract documents this error.',
    retryable: isFrozen || name === 'TooEarly',
    cause: error,
  })
}
