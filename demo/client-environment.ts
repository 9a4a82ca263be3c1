import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { taskManager } from '../lib/chain/task-manager.ts'
import { formatDeployment } from '../lib/deployment.ts'
import type { World } from './world.ts'

/** Writes a world's address file and its client's key into its folder, and returns the client's settings, which name them. */
export async function clientEnvironment({
  chain,
  icl,
  folder,
}: Pick<World, 'chain' | 'icl' | 'folder'>): Promise<Readonly<Record<string, string>>> {
  const { chainId, contracts, coprocessor } = chain
  const keyFile = join(folder, 'client.key')
  const addressFile = join(folder, 'deployment.json')
  await writeFile(keyFile, `${chain.clientKey}\n`, { mode: 0o600 })
  const deployment = {
    network: 'local',
    chain_id: chainId,
    contracts: {
      node_registry: contracts.nodeRegistry,
      prompt_key_store: contracts.promptKeyStore,
      result_registry: contracts.resultRegistry,
    },
    task_manager: taskManager,
    block: 0,
    ...(coprocessor && { coprocessor }),
  }
  await writeFile(addressFile, formatDeployment(deployment))
  return {
    SVC_ICL_ENDPOINT: icl.url,
    SVC_RPC_URL: chain.rpcUrl,
    SVC_CLIENT_KEY_FILE: keyFile,
    SVC_DEPLOYMENT: addressFile,
  }
}
