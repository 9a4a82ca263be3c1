import {
  type Abi,
  ContractFunctionRevertedError,
  createTestClient,
  type Hex,
  http,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { simulateContract, writeContract } from 'viem/actions'
import { type DeployedContracts, deployContracts } from '../../contracts/deploy.ts'
import { type Anvil, startAnvil } from '../../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../../contracts/local/cofhe.ts'
import { causesOf } from '../../lib/chain/chain-error.ts'
import { type ChainWriter, createChainWriter } from '../../lib/chain/clients.ts'
import { waitForReceipt } from '../../lib/chain/wait-for-receipt.ts'

export const MIN_STAKE = 10n ** 18n
export const DAY_S = 24 * 3600

export type Call = {
  readonly address: Hex
  readonly abi: Abi
  readonly functionName: string
  readonly args?: readonly unknown[]
  readonly value?: bigint
}

export type TestChain = Awaited<ReturnType<typeof startTestChain>>

/** The wallets of the ten development accounts. */
export function walletsOf({ rpcUrl, chainId, accounts }: Anvil) {
  const wallets = accounts.map(({ privateKey }) =>
    createChainWriter({
      rpcUrl,
      chainId,
      account: privateKeyToAccount(privateKey),
      pollingIntervalMs: 10,
    }),
  )
  const wallet = (index: number): ChainWriter => {
    const found = wallets[index]
    if (found === undefined) throw new Error(`no account ${index}`)
    return found
  }
  const addressOf = (index: number) =>
    wallet(index).walletClient.account.address.toLowerCase() as Hex
  return { wallet, addressOf }
}

/** Deploys the contracts. Account 0 deploys, 1 coordinates, 2 arbitrates, 3 is the treasury; 4 to 9 are nobody in particular. */
export const deployTo = ({ rpcUrl, chainId, accounts }: Anvil): Promise<DeployedContracts> => {
  const [deployer, ...others] = accounts.map(({ privateKey }) => privateKeyToAccount(privateKey))
  const [coordinator, arbiter, treasury] = others.map(({ address }) => address.toLowerCase() as Hex)
  if (!(deployer && coordinator && arbiter && treasury)) throw new Error('too few accounts')
  const roles = { deployer, coordinator, arbiter, treasury }
  return deployContracts({ rpcUrl, chainId, ...roles, minStake: MIN_STAKE })
}

/** A chain with the contracts, and a mock in the coprocessor's place. */
export const startTestChain = async () => {
  const anvil = await startAnvil()
  const { rpcUrl, chainId } = anvil
  const test = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  await placeLocalCofhe({ rpcUrl, chainId })
  const wallets = walletsOf(anvil)
  return {
    ...(await deployTo(anvil)),
    ...wallets,
    anvil,
    increaseTime: async (seconds: number): Promise<void> => {
      await test.increaseTime({ seconds })
      await test.mine({ blocks: 1 })
    },
    /** Unix seconds of the latest block. */
    now: async () => Number((await wallets.wallet(0).publicClient.getBlock()).timestamp),
    stop: anvil.stop,
  }
}

/** Sends a call and returns its receipt; throws what the contract reverts with. */
export const send = async (chain: ChainWriter, call: Call): Promise<TransactionReceipt> => {
  const { publicClient, walletClient } = chain
  const { request } = await simulateContract(publicClient, {
    ...call,
    account: walletClient.account,
  })
  const hash = await writeContract(walletClient, request)
  return await waitForReceipt(chain, hash)
}

export const read = <T>(chain: TestChain, call: Call): Promise<T> =>
  chain.wallet(0).publicClient.readContract(call) as Promise<T>

/** The custom error, with its arguments, that a call reverts with. */
export const revertOf = async (work: Promise<unknown>): Promise<readonly unknown[]> => {
  try {
    await work
  } catch (error) {
    const reverted = causesOf(error).find((cause) => cause instanceof ContractFunctionRevertedError)
    if (reverted?.data === undefined) throw error
    return [reverted.data.errorName, ...(reverted.data.args ?? [])].map((value) =>
      typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : value,
    )
  }
  throw new Error('the call did not revert')
}

/** What a transaction emitted: names with arguments. */
export const eventsOf = (receipt: TransactionReceipt, abi: Abi) =>
  parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName, args }) => ({
    name: eventName,
    ...(args as Record<string, unknown>),
  }))
