import { encodeDeployData, getContractAddress, type Hex } from 'viem'
import { Address } from '../lib/codecs.ts'
import type { Artifact, Artifacts } from './solc.ts'

/** The holders of the contracts' roles, and the smallest stake in wei. */
export type Terms = {
  readonly coordinator: Address
  readonly arbiter: Address
  readonly treasury: Address
  readonly minStake: bigint
}

/** The contracts in the order in which they are deployed. */
export const contractNames = ['NodeRegistry', 'PromptKeyStore', 'ResultRegistry'] as const
export type ContractName = (typeof contractNames)[number]

/** A constructor's arguments by name, in order. */
export type Arguments = readonly (readonly [name: string, value: Hex | bigint])[]

/** Returns the constructor arguments of a contract. PromptKeyStore needs the address of NodeRegistry. */
export const argumentsOf = (name: ContractName, terms: Terms, nodeRegistry: Hex): Arguments => {
  const { coordinator, arbiter, treasury, minStake } = terms
  switch (name) {
    case 'NodeRegistry':
      return [
        ['coordinator', coordinator],
        ['arbiter', arbiter],
        ['treasury', treasury],
        ['minStake', minStake],
      ]
    case 'PromptKeyStore':
      return [['nodeRegistry', nodeRegistry]]
    case 'ResultRegistry':
      return [['coordinator', coordinator]]
  }
}

/** Returns a compiled contract. Throws when there is none of that name. */
export const artifactOf = (artifacts: Artifacts, name: string): Artifact => {
  const artifact = artifacts[name]
  if (artifact === undefined) throw new Error(`no contract named ${name} was compiled`)
  return artifact
}

/** Returns the data of the transaction that creates a contract. */
export const creationCode = ({ abi, bytecode }: Artifact, values: Arguments): Hex =>
  encodeDeployData({ abi, bytecode, args: values.map(([, value]) => value) })

/** Returns the address of a contract to create, in lower case. It depends only on the deployer and the transaction's nonce. */
export const addressAt = (deployer: Address, nonce: number): Address =>
  Address.parse(getContractAddress({ from: deployer, nonce: BigInt(nonce) }))

/** Whether code on chain is an artifact's. Ignores the values of immutables. */
export const isCodeOf = (
  { deployedBytecode, immutables }: Artifact,
  code: Hex | undefined,
): boolean => {
  if (code === undefined || code.length !== deployedBytecode.length) return false
  const masked = (text: string): string => {
    let result = text
    for (const { start, length } of immutables) {
      const [from, to] = [2 + 2 * start, 2 + 2 * (start + length)]
      result = result.slice(0, from) + '0'.repeat(to - from) + result.slice(to)
    }
    return result
  }
  return masked(code.toLowerCase()) === masked(deployedBytecode.toLowerCase())
}
