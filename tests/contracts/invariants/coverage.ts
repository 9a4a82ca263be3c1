import type { Abi } from 'viem'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { taskManagerAbi } from '../../../lib/abi/task-manager.ts'
import { callName } from './callers.ts'
import type { RunReport } from './run.ts'

const abis: Readonly<Record<string, Abi>> = {
  NodeRegistry: nodeRegistryAbi,
  PromptKeyStore: promptKeyStoreAbi,
  ResultRegistry: resultRegistryAbi,
  CofheTaskManager: taskManagerAbi,
}

/** Every function, event and error of the ABIs, and those of them that a run has not met on chain. */
export const coverageOf = ({ done, errors, events, read }: RunReport) => {
  const all: string[] = []
  const missing: string[] = []
  const note = (what: string, isMet: boolean) => {
    all.push(what)
    if (!isMet) missing.push(what)
  }
  const errorNames = new Set([...errors.keys()].map((error) => error.split('.')[1]))
  for (const [contract, abi] of Object.entries(abis)) {
    for (const item of abi) {
      if (item.type === 'function') {
        const { name, inputs, stateMutability } = item
        const isRead = stateMutability === 'view' || stateMutability === 'pure'
        const call = callName(contract, name, inputs.length, inputs[0]?.type === 'tuple')
        note(`function ${call}`, isRead ? read.has(call) : done.has(call))
      } else if (item.type === 'event') {
        note(`event ${contract}.${item.name}`, events.has(`${contract}.${item.name}`))
      } else if (item.type === 'error') {
        // What the coprocessor refuses comes back through the contract that asked it.
        const isMet = contract === 'CofheTaskManager' && errorNames.has(item.name)
        note(`error ${contract}.${item.name}`, isMet || errors.has(`${contract}.${item.name}`))
      }
    }
  }
  return { all, missing }
}
