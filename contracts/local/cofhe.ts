import {
  MOCKS_THRESHOLD_NETWORK_ADDRESS,
  MOCKS_ZK_VERIFIER_ADDRESS,
  MOCKS_ZK_VERIFIER_SIGNER_ADDRESS,
  TASK_MANAGER_ADDRESS,
} from '@cofhe/sdk'
import {
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  isAddressEqual,
  parseEther,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { sendCall } from '../../lib/chain/send.ts'
import { buildContracts } from '../build.ts'
import type { Artifact, Artifacts } from '../solc.ts'

const callTimeoutMs = 10_000
const mockChainId = 31_337

const artifactNamed = (artifacts: Artifacts, name: string): Artifact => {
  const artifact = artifacts[name]
  if (artifact === undefined) throw new Error(`no contract named ${name} was compiled`)
  return artifact
}

type Deployment = {
  readonly rpcUrl: string
  readonly chainId: number
  /** The account whose signatures make encrypted inputs valid. */
  readonly signer: Hex
  readonly signal: AbortSignal | undefined
}

const setSigner = async (
  { rpcUrl, chainId, signer, signal }: Deployment,
  { abi }: Artifact,
): Promise<void> => {
  // Anyone may set the signer, once. This wallet has no other use.
  const account = privateKeyToAccount(generatePrivateKey())
  const chain = createChainWriter({ rpcUrl, chainId, account, timeoutMs: callTimeoutMs })
  const present = await chain.publicClient.readContract({
    address: TASK_MANAGER_ADDRESS,
    abi,
    functionName: 'verifierSigner',
  })
  if (String(present).toLowerCase() === signer.toLowerCase()) return
  await anvilClient(rpcUrl).setBalance({ address: account.address, value: parseEther('1') })
  const functionName = 'initialize'
  const data = encodeFunctionData({ abi, functionName, args: [signer] })
  await sendCall(chain, { to: TASK_MANAGER_ADDRESS, data, abi, functionName }, signal)
}

const anvilClient = (rpcUrl: string) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl, { timeout: callTimeoutMs }) })

const mockContracts = [
  [TASK_MANAGER_ADDRESS, 'LocalMockTaskManager'],
  [MOCKS_ZK_VERIFIER_ADDRESS, 'LocalZkVerifier'],
  [MOCKS_THRESHOLD_NETWORK_ADDRESS, 'LocalThresholdNetwork'],
] as const

// A process makes proofs and decrypts, so that no plaintext is on the chain.
const realContracts = [[TASK_MANAGER_ADDRESS, 'LocalTaskManager']] as const

/** Puts the contracts on the chain. Idempotent. */
const place = async (
  options: Deployment,
  contracts: typeof mockContracts | typeof realContracts,
): Promise<void> => {
  const { rpcUrl, signal } = options
  const artifacts = await buildContracts()
  const test = anvilClient(rpcUrl)
  try {
    for (const [address, name] of contracts) {
      signal?.throwIfAborted()
      await test.setCode({ address, bytecode: artifactNamed(artifacts, name).deployedBytecode })
    }
    if (contracts === mockContracts) {
      await test.setBalance({ address: options.signer, value: parseEther('100') })
    }
    await setSigner(options, artifactNamed(artifacts, 'LocalTaskManager'))
  } catch (error) {
    signal?.throwIfAborted()
    throw new Error(`cannot place the local coprocessor on ${rpcUrl}: is it an anvil chain?`, {
      cause: error,
    })
  }
}

/** DEVELOPMENT ONLY: puts the contracts for the SDK's mock mode on an anvil chain. Idempotent. */
export const placeLocalCofhe = (options: {
  readonly rpcUrl: string
  readonly chainId?: number
  readonly signal?: AbortSignal
}): Promise<void> => {
  const { rpcUrl, chainId = mockChainId, signal } = options
  return place({ rpcUrl, chainId, signer: MOCKS_ZK_VERIFIER_SIGNER_ADDRESS, signal }, mockContracts)
}

/** DEVELOPMENT ONLY: puts a running local coprocessor's contract on an anvil chain with any id but 31337. Idempotent. */
export const placeLocalTaskManager = (options: {
  readonly rpcUrl: string
  readonly chainId: number
  /** The coprocessor's verifier address. */
  readonly verifier: Hex
  readonly signal?: AbortSignal
}): Promise<void> => {
  const { rpcUrl, chainId, verifier, signal } = options
  if (chainId === mockChainId || isAddressEqual(verifier, MOCKS_ZK_VERIFIER_SIGNER_ADDRESS)) {
    throw new TypeError('a mock has no place beside real ciphertexts')
  }
  return place({ rpcUrl, chainId, signer: verifier, signal }, realContracts)
}
