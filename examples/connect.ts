// Connects to an ICL with a key of your own. The other examples import this client.

import { readFile } from 'node:fs/promises'
import { privateKeyToAccount } from 'viem/accounts'
import { createClient, type Network } from '../lib/client/mod.ts'

const { SVC_ICL_ENDPOINT, SVC_RPC_URL, SVC_CLIENT_KEY_FILE, SVC_DEPLOYMENT } = process.env
if (!SVC_ICL_ENDPOINT || !SVC_RPC_URL || !SVC_CLIENT_KEY_FILE || !SVC_DEPLOYMENT) {
  throw new Error('Set the variables that `npm run demo -- --keep "Hello"` prints')
}

const key = (await readFile(SVC_CLIENT_KEY_FILE, 'utf8')).trim()
const deployment = JSON.parse(await readFile(SVC_DEPLOYMENT, 'utf8')) as Pick<Network, 'contracts'>

export const client = await createClient({
  icl: SVC_ICL_ENDPOINT,
  rpcUrl: SVC_RPC_URL,
  account: privateKeyToAccount(key as `0x${string}`),
  // Without them the client takes the ICL's word for where to store its keys.
  contracts: deployment.contracts,
})
