import { type Hex, pad, toHex } from 'viem'
import { nodeRegistryAbi } from '../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../lib/abi/result-registry.ts'
import type { ChainReader } from '../lib/chain/clients.ts'
import { SvcError } from '../lib/svc-error.ts'
import { ask } from './deploy-plan.ts'
import {
  artifactOf,
  type ContractName,
  contractNames,
  isCodeOf,
  type Terms,
} from './deployment-steps.ts'
import type { Artifacts } from './solc.ts'

const role = (name: string): Hex => pad(toHex(name), { dir: 'right', size: 32 })

/** Compares the chain with the plan: code, roles, the smallest stake, the link between contracts. Throws SvcError `deployment-differs`. */
export async function verifyDeployed(
  { publicClient }: ChainReader,
  artifacts: Artifacts,
  terms: Terms,
  addresses: Readonly<Record<ContractName, Hex>>,
  signal?: AbortSignal,
): Promise<void> {
  for (const name of contractNames) {
    const reading = publicClient.getCode({ address: addresses[name] })
    const code = await ask(`reading the code of ${name}`, reading, signal)
    if (!isCodeOf(artifactOf(artifacts, name), code)) {
      throw differs(`the code at ${addresses[name]} is not ${name}'s`)
    }
  }
  const nodes = { address: addresses.NodeRegistry, abi: nodeRegistryAbi } as const
  const results = { address: addresses.ResultRegistry, abi: resultRegistryAbi } as const
  const keys = { address: addresses.PromptKeyStore, abi: promptKeyStoreAbi } as const
  const holderOf = (name: string) =>
    publicClient.readContract({ ...nodes, functionName: 'holderOf', args: [role(name)] })
  const readings = Promise.all([
    holderOf('coordinator'),
    holderOf('arbiter'),
    holderOf('treasury'),
    publicClient.readContract({
      ...results,
      functionName: 'holderOf',
      args: [role('coordinator')],
    }),
    publicClient.readContract({ ...nodes, functionName: 'minStake' }),
    publicClient.readContract({ ...keys, functionName: 'nodeRegistry' }),
  ])
  const [coordinator, arbiter, treasury, committer, minStake, registry] = await ask(
    'reading the roles',
    readings,
    signal,
  )
  const expected: readonly (readonly [string, string | bigint, string | bigint])[] = [
    ['the coordinator of NodeRegistry', coordinator, terms.coordinator],
    ['the arbiter', arbiter, terms.arbiter],
    ['the treasury', treasury, terms.treasury],
    ['the coordinator of ResultRegistry', committer, terms.coordinator],
    ['the smallest stake', minStake, terms.minStake],
    ["PromptKeyStore's NodeRegistry", registry, addresses.NodeRegistry],
  ]
  for (const [what, found, wanted] of expected) {
    if (String(found).toLowerCase() === String(wanted).toLowerCase()) continue
    throw differs(`${what} is ${found}, and not ${wanted}`)
  }
}

const differs = (what: string): SvcError =>
  new SvcError('deployment-differs', `what is deployed is not what was to be: ${what}`, {
    hint: 'Do not use these contracts. Was the address file, or the file of an unfinished deployment, changed?',
  })
