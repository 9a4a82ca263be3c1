import {
  type Abi,
  decodeErrorResult,
  encodeDeployData,
  type Hex,
  isHex,
  pad,
  RpcRequestError,
  toHex,
} from 'viem'
import { afterAll, expect, it } from 'vitest'
import { buildContracts } from '../../contracts/build.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { causesOf } from '../../lib/chain/chain-error.ts'
import { startTestChain } from './test-chain.ts'

const nobody: Hex = `0x${'0'.repeat(40)}`

const chain = await startTestChain()
afterAll(() => chain.stop())

/** How a construction reverts: the error's name and arguments. */
const refusalOf = async (contract: string, abi: Abi, args: readonly unknown[]): Promise<string> => {
  const artifacts = await buildContracts()
  const { publicClient, walletClient } = chain.wallet(0)
  const bytecode = artifacts[contract]?.bytecode ?? '0x'
  const data = encodeDeployData({ abi, bytecode, args })
  try {
    await publicClient.call({ account: walletClient.account, data })
  } catch (error) {
    const cause = causesOf(error).find((one) => one instanceof RpcRequestError)
    if (!isHex(cause?.data)) throw error
    const { errorName, args: values = [] } = decodeErrorResult({ abi, data: cause.data })
    return [errorName, ...values].join(' ').toLowerCase()
  }
  return 'no refusal'
}

const role = (name: string) => pad(toHex(name), { dir: 'right', size: 32 })

it('a construction refuses a role without a holder, and one account as coordinator and arbiter', async () => {
  const [one, two, three] = [4, 5, 6].map((index) => chain.addressOf(index))
  const nodes = (...args: readonly unknown[]) =>
    refusalOf('NodeRegistry', nodeRegistryAbi, [...args, 1n])
  expect(await nodes(one, two, three)).toBe('no refusal')
  expect(await nodes(nobody, two, three)).toBe(`invalidholder ${role('coordinator')} ${nobody}`)
  expect(await nodes(one, nobody, three)).toBe(`invalidholder ${role('arbiter')} ${nobody}`)
  expect(await nodes(one, two, nobody)).toBe(`invalidholder ${role('treasury')} ${nobody}`)
  expect(await nodes(one, one, three)).toBe(`invalidholder ${role('arbiter')} ${one}`)
  expect(await refusalOf('ResultRegistry', resultRegistryAbi, [nobody])).toBe(
    `invalidholder ${role('coordinator')} ${nobody}`,
  )
})
