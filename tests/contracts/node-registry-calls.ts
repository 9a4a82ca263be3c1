import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { send, type TestChain } from './test-chain.ts'

/** Calls of NodeRegistry, and transactions of the accounts by their numbers. */
export function createRegistryCalls(chain: () => TestChain) {
  const call = (functionName: string, args: readonly unknown[] = [], value?: bigint) => ({
    address: chain().nodeRegistry,
    abi: nodeRegistryAbi,
    functionName,
    args,
    ...(value === undefined ? {} : { value }),
  })
  return {
    call,
    as: (index: number, functionName: string, args?: readonly unknown[], value?: bigint) =>
      send(chain().wallet(index), call(functionName, args, value)),
  }
}
