import type { Hex } from 'viem'
import { taskManagerAbi } from '../abi/task-manager.ts'
import { Address } from '../codecs.ts'
import type { ChainReader } from './clients.ts'
import { reading } from './reading.ts'

/** The address of the coprocessor's task manager on every chain. */
export const taskManager = Address.parse('0xea30c4b8b44078bbf8a6ef5b9f1ec1626c7848d9')

/** True when the coprocessor would decrypt a stored handle for an account; throws a chain error (spec 5). */
export const isAllowed = (
  { publicClient }: ChainReader,
  handle: bigint,
  account: Hex,
  signal?: AbortSignal,
): Promise<boolean> => {
  const read = publicClient.readContract({
    address: taskManager,
    abi: taskManagerAbi,
    functionName: 'isAllowed',
    args: [handle, account],
  })
  return reading('reading access rights', read, signal)
}
