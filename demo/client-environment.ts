import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatDeployment } from '../lib/deployment.ts'
import type { World } from './world.ts'

/** Writes a world's address file and its client's key into its folder, and returns the client's settings, which name them. */
export async function clientEnvironment({
  chain,
  icl,
  folder,
}: Pick<World, 'chain' | 'icl' | 'folder'>): Promise<Readonly<Record<string, string>>> {
  const keyFile = join(folder, 'client.key')
  const addressFile = join(folder, 'deployment.json')
  await writeFile(keyFile, `${chain.clientKey}\n`, { mode: 0o600 })
  await writeFile(addressFile, formatDeployment(chain.deployment))
  return {
    SVC_ICL_ENDPOINT: icl.url,
    SVC_RPC_URL: chain.rpcUrl,
    SVC_CLIENT_KEY_FILE: keyFile,
    SVC_DEPLOYMENT: addressFile,
  }
}
