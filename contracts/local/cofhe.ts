import {
  MOCKS_THRESHOLD_NETWORK_ADDRESS,
  MOCKS_ZK_VERIFIER_ADDRESS,
  MOCKS_ZK_VERIFIER_SIGNER_ADDRESS,
  MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY,
  TASK_MANAGER_ADDRESS,
} from '@cofhe/sdk'
import { createTestClient, encodeFunctionData, type Hex, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { sendCall } from '../../lib/chain/send.ts'
import { buildContracts } from '../build.ts'
import type { Artifact, Artifacts } from '../solc.ts'

const callTimeoutMs = 10_000

const artifactNamed = (artifacts: Artifacts, name: string): Artifact => {
  const artifact = artifacts[name]
  if (artifact === undefined) throw new Error(`no contract named ${name} was compiled`)
  return artifact
}

const initialize = async (
  endpoint: { rpcUrl: string; chainId: number },
  { abi }: Artifact,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const account = privateKeyToAccount(MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY.toLowerCase() as Hex)
  const chain = createChainWriter({ ...endpoint, account, timeoutMs: callTimeoutMs })
  const signer = await chain.publicClient.readContract({
    address: TASK_MANAGER_ADDRESS,
    abi,
    functionName: 'verifierSigner',
  })
  if (String(signer).toLowerCase() === account.address.toLowerCase()) return
  const args = [MOCKS_ZK_VERIFIER_SIGNER_ADDRESS]
  const data = encodeFunctionData({ abi, functionName: 'initialize', args })
  const call = { to: TASK_MANAGER_ADDRESS, data, abi, functionName: 'initialize' }
  await sendCall(chain, call, signal)
}

/** DEVELOPMENT ONLY: puts the local coprocessor's contracts on an anvil chain; harmless when done twice. */
export const placeLocalCofhe = async (options: {
  readonly rpcUrl: string
  readonly chainId?: number
  readonly signal?: AbortSignal
}): Promise<void> => {
  const { rpcUrl, chainId = 31337, signal } = options
  const artifacts = await buildContracts()
  const test = createTestClient({
    mode: 'anvil',
    transport: http(rpcUrl, { timeout: callTimeoutMs }),
  })
  const places = [
    [TASK_MANAGER_ADDRESS, 'LocalTaskManager'],
    [MOCKS_ZK_VERIFIER_ADDRESS, 'LocalZkVerifier'],
    [MOCKS_THRESHOLD_NETWORK_ADDRESS, 'LocalThresholdNetwork'],
  ] as const
  try {
    for (const [address, name] of places) {
      signal?.throwIfAborted()
      await test.setCode({ address, bytecode: artifactNamed(artifacts, name).deployedBytecode })
    }
    await test.setBalance({ address: MOCKS_ZK_VERIFIER_SIGNER_ADDRESS, value: parseEther('100') })
    await initialize({ rpcUrl, chainId }, artifactNamed(artifacts, 'LocalTaskManager'), signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw new Error(`cannot place the local coprocessor on ${rpcUrl}: is it an anvil chain?`, {
      cause: error,
    })
  }
}
