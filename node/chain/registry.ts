import { encodeFunctionData, type Hex, type LocalAccount, zeroHash } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { isRevert, lacksFunds, revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { createChainReader, createChainWriter } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { leaveRpc, rpcHostInUse } from '../../lib/chain/rpc-list.ts'
import { sendCall } from '../../lib/chain/send.ts'
import { Address, Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import type { NewestBlock } from './behind.ts'
import { type SendOptions, sendingWith } from './sending.ts'

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

/** When the stake of a node that leaves is free, in Unix seconds. Undefined while it stays. */
export const freeAt = ({ registration, terms }: RegistryState): number | undefined =>
  registration?.unbondingAt ? registration.unbondingAt + terms.unbondingSeconds : undefined

/** A registration as commands print it with --json. */
export const registrationJson = (registration: Registration | undefined) => ({
  registered: registration !== undefined,
  active: registration?.active ?? false,
  stake_wei: String(registration?.stake ?? 0n),
  model_tiers: registration?.modelTiers ?? [],
})

/** A proposed slash. The amount is wei, the time Unix seconds. */
export type Accusation = {
  readonly operator: Address
  readonly amountWei: bigint
  /** From this time on the stake can be taken. */
  readonly executableAt: number
  readonly answerHash?: Hash32
  readonly isSettled: boolean
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
/** Gas for delivering one answer, which costs about three times as much. */
export const deliveryGas = 3n * registerGas

/** The location of NodeRegistry. */
export type RegistryEndpoint = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly nodeRegistry: Address
}

/** Makes a reader of NodeRegistry, which needs no wallet. Every call throws chain errors. */
export function createRegistryReader(place: RegistryEndpoint) {
  const { publicClient } = createChainReader(place)
  const contract = { address: place.nodeRegistry, abi: nodeRegistryAbi } as const
  const read = <T>(work: Promise<T>, signal?: AbortSignal): Promise<T> =>
    reading('reading NodeRegistry', work, signal)
  const reader = {
    /** Terms, registration and balance together. */
    async stateOf(node: Address, signal?: AbortSignal): Promise<RegistryState> {
      const [terms, registration, balance] = await Promise.all([
        reader.terms(signal),
        reader.registrationOf(node, signal),
        reader.balanceOf(node, signal),
      ])
      return { terms, registration, balance }
    },
    /** The newest block that the RPC knows. */
    async newestBlock(signal?: AbortSignal): Promise<NewestBlock> {
      const { number, timestamp } = await read(publicClient.getBlock(), signal)
      return { number, timestamp: Number(timestamp), host: rpcHostInUse(place) }
    },
    /** Uses the next RPC of several, if the one at this host is in use. */
    leaveRpc: (host: string): void => leaveRpc(place, host, 'is behind'),
    async terms(signal?: AbortSignal): Promise<RegistryTerms> {
      const found = Promise.all([
        publicClient.readContract({ ...contract, functionName: 'minStake' }),
        publicClient.readContract({ ...contract, functionName: 'UNBONDING_PERIOD' }),
        publicClient.getBlock(),
        publicClient.getGasPrice(),
      ])
      const [minStake, unbonding, block, gasPrice] = await read(found, signal)
      const now = Number(block.timestamp)
      return { minStake, unbondingSeconds: Number(unbonding), now, gasPrice }
    },
    /** Undefined when the node is not registered. */
    async registrationOf(node: Hex, signal?: AbortSignal): Promise<Registration | undefined> {
      const call = { ...contract, functionName: 'nodeOf', args: [node] } as const
      const state = await read(publicClient.readContract(call), signal)
      if (state.registeredAt === 0n) return undefined
      return {
        ...state,
        lastHeartbeat: Number(state.lastHeartbeat),
        unbondingAt: Number(state.unbondingAt),
      }
    },
    /** Undefined when no slash was proposed for this fault. */
    async accusationOf(faultId: Hash32, signal?: AbortSignal): Promise<Accusation | undefined> {
      const call = { ...contract, functionName: 'slashOf', args: [faultId] } as const
      const slash = await read(publicClient.readContract(call), signal)
      if (slash.executableAt === 0n) return undefined
      return {
        operator: Address.parse(slash.operator),
        amountWei: slash.amount,
        executableAt: Number(slash.executableAt),
        isSettled: slash.settled,
        ...(slash.answerHash !== zeroHash && { answerHash: Hash32.parse(slash.answerHash) }),
      }
    },
    /** Returns the balance of an account in wei. */
    balanceOf: (address: Address, signal?: AbortSignal): Promise<bigint> =>
      read(publicClient.getBalance({ address }), signal),
    /** Returns how many nonces of an account are in blocks, and how many its transactions have as far as the RPC knows. */
    async noncesOf(address: Address, signal?: AbortSignal) {
      const counts = (['pending', 'latest'] as const).map((blockTag) =>
        publicClient.getTransactionCount({ address, blockTag }),
      )
      const [sent = 0, used = 0] = await read(Promise.all(counts), signal)
      return { sent, used }
    },
    /** Returns the addresses that hold no contract. */
    async withoutCode(contracts: readonly Address[], signal?: AbortSignal) {
      const codes = contracts.map((address) => publicClient.getCode({ address }))
      const found = await read(Promise.all(codes), signal)
      return contracts.filter((_, index) => (found[index] ?? '0x') === '0x')
    },
  }
  return reader
}

const landMs = 120_000

/** Sends steps from the node's wallet, for at most `mostWei` for a unit of gas, and waits 2 minutes for each. Throws SvcError `no-funds`, `registry-refused`, `transaction-pending` or a chain error. */
export function createRegistrySender(
  place: RegistryEndpoint & { readonly account: LocalAccount },
  sending: Omit<SendOptions, 'signal'>,
): (step: RegistryStep, mostWei?: bigint) => Promise<Hex> {
  return async (step, mostWei) => {
    const over = new AbortController()
    const late = () =>
      over.abort(
        new SvcError('transaction-pending', `${step.call} was sent, but is in no block yet`, waits),
      )
    systemClock.sleep(landMs, over.signal).then(late, () => {})
    const { signal } = over
    const chain = sendingWith(createChainWriter(place), { ...sending, signal, settleMs: 0 })
    const call = { to: place.nodeRegistry, data: dataOf(step), abi: nodeRegistryAbi }
    const value = 'value' in step ? { value: step.value } : {}
    const limit = mostWei === undefined ? {} : { mostWei }
    try {
      const sent = await sendCall(
        chain,
        { ...call, ...value, ...limit, functionName: step.call },
        signal,
      )
      return sent.transactionHash
    } catch (error) {
      signal.throwIfAborted()
      throw sendError(step, place.account.address.toLowerCase(), error)
    } finally {
      over.abort()
    }
  }
}

const waits = {
  hint: 'It may still get into one, and the next command or `svc-node run` continues with it: see `svc-node transactions`.',
  retryable: true,
}

function dataOf(step: RegistryStep): Hex {
  const abi = nodeRegistryAbi
  if ('tiers' in step)
    return encodeFunctionData({ abi, functionName: step.call, args: [step.tiers] })
  if (step.call !== 'answer') return encodeFunctionData({ abi, functionName: step.call })
  const args = [step.faultId, step.answerHash] as const
  return encodeFunctionData({ abi, functionName: step.call, args })
}

function sendError(step: RegistryStep, address: string, error: unknown): SvcError {
  const { call } = step
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
