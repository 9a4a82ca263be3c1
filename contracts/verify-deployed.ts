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
  deployed: Readonly<Record<ContractName, { readonly address: Hex }>>,
  signal: AbortSignal,
): Promise<void> {
  for (const name of contractNames) {
    const { address } = deployed[name]
    const code = await ask(`reading the code of ${name}`, publicClient.getCode({ address }), signal)
    if (isCodeOf(artifactOf(artifacts, name), code)) continue
    throw differs(`the code at ${address} is not ${name}'s`)
  }
  const { NodeRegistry, PromptKeyStore, ResultRegistry } = deployed
  const nodes = { address: NodeRegistry.address, abi: nodeRegistryAbi } as const
  const results = { address: ResultRegistry.address, abi: resultRegistryAbi } as const
  const keys = { address: PromptKeyStore.address, abi: promptKeyStoreAbi } as const
  const read = publicClient.readContract
  const holderOf = (name: string) =>
    read({ ...nodes, functionName: 'holderOf', args: [role(name)] })
  const committer = read({ ...results, functionName: 'holderOf', args: [role('coordinator')] })
  const checks = [
    ['the coordinator of NodeRegistry', holderOf('coordinator'), terms.coordinator],
    ['the arbiter', holderOf('arbiter'), terms.arbiter],
    ['the treasury', holderOf('treasury'), terms.treasury],
    ['the coordinator of ResultRegistry', committer, terms.coordinator],
    ['the smallest stake', read({ ...nodes, functionName: 'minStake' }), terms.minStake],
    [
      "PromptKeyStore's NodeRegistry",
      read({ ...keys, functionName: 'nodeRegistry' }),
      nodes.address,
    ],
  ] as const
  const readings = Promise.all(checks.map(([, reading]) => reading))
  const found = await ask('reading the roles', readings, signal)
  for (const [index, [what, , wanted]] of checks.entries()) {
    if (String(found[index]).toLowerCase() === String(wanted).toLowerCase()) continue
    throw differs(`${what} is ${found[index]}, and not ${wanted}`)
  }
}

const differs = (what: string): SvcError =>
  new SvcError('deployment-differs', `what is deployed is not what was to be: ${what}`, {
    hint: 'Do not use these contracts. Was the address file, or the file of an unfinished deployment, changed?',
  })
