import { concat, type Hex, pad, toFunctionSelector, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type DeployedContracts, deployContracts } from '../../../contracts/deploy.ts'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../../../contracts/local/cofhe.ts'
import type { Receives } from './node-registry-model.ts'
import { createRpc, type Rpc } from './rpc.ts'

export const minStake = 10n ** 18n
export const chainId = 31_337

const ether = 10n ** 18n
const refuser: Hex = `0x${'de'.repeat(19)}01`
const reentrant: Hex = `0x${'de'.repeat(19)}02`
const whale: Hex = `0x${'de'.repeat(19)}03`

/** Who calls: the first is the coordinator, the second the arbiter, the third the treasury. */
type Actors = readonly [Hex, Hex, Hex, ...Hex[]]

export type FuzzChain = {
  readonly rpc: Rpc
  readonly contracts: DeployedContracts
  readonly actors: Actors
  /** Has more wei than a stake can count. */
  readonly whale: Hex
  readonly receives: Receives
  readonly coordinator: Hex
  readonly arbiter: Hex
  readonly treasury: Hex
  stop(): Promise<void>
}

/** Code that calls the registry's withdraw and payTreasury whenever it is paid, and ignores how they end. */
const reentrantCode = (registry: Hex): Hex => {
  const callOf = (signature: string): Hex =>
    concat([
      '0x63',
      toFunctionSelector(signature),
      // mstore(0, selector); call(gas, registry, 0, 28, 4, 0, 0); pop
      '0x6000526000600060046'.concat('01c600073') as Hex,
      registry,
      '0x5af150',
    ])
  return concat([callOf('withdraw()'), callOf('payTreasury()'), '0x00'])
}

/** Starts a chain of its own with the contracts, the local coprocessor and the actors, all unlocked and rich. */
export const startFuzzChain = async (): Promise<FuzzChain> => {
  const anvil = await startAnvil({ chainId })
  try {
    const { rpcUrl, accounts } = anvil
    const rpc = createRpc(rpcUrl)
    await placeLocalCofhe({ rpcUrl, chainId })
    const actors = [
      ...accounts.slice(1).map(({ address }) => address),
      refuser,
      reentrant,
    ] as unknown as Actors
    const [coordinator, arbiter, treasury] = actors
    const contracts = await deployContracts({
      rpcUrl,
      chainId,
      deployer: privateKeyToAccount(accounts[0].privateKey),
      coordinator,
      arbiter,
      treasury,
      minStake,
    })
    await rpc([
      ...[...actors, whale].map(
        (actor) =>
          [
            'anvil_setBalance',
            actor,
            toHex(actor === whale ? 2n ** 140n : 1_000_000n * ether),
          ] as const,
      ),
      ['anvil_setCode', refuser, '0x60006000fd'],
      ['anvil_setCode', reentrant, reentrantCode(contracts.nodeRegistry)],
      ['anvil_autoImpersonateAccount', true],
      ['evm_setBlockGasLimit', toHex(2_000_000_000)],
      ['anvil_setNextBlockBaseFeePerGas', '0x0'],
      ['evm_setAutomine', false],
    ])
    return {
      rpc,
      contracts,
      actors,
      whale,
      coordinator,
      arbiter,
      treasury,
      receives: (receiver) => {
        if (receiver === refuser) return 'refuses'
        return receiver === reentrant ? 'calls back' : 'takes'
      },
      stop: anvil.stop,
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

/** A number as a 32-byte word. */
export const word = (value: bigint | number): Hex => pad(toHex(value), { size: 32 })
