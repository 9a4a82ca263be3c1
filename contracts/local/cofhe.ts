import {
  MOCKS_THRESHOLD_NETWORK_ADDRESS,
  MOCKS_ZK_VERIFIER_ADDRESS,
  MOCKS_ZK_VERIFIER_SIGNER_ADDRESS,
  TASK_MANAGER_ADDRESS,
} from '@cofhe/sdk'
import { createTestClient, encodeFunctionData, type Hex, isAddressEqual, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createChainWriter, rpcTransport } from '../../lib/chain/clients.ts'
import { sendCall } from '../../lib/chain/send.ts'
import { buildContracts } from '../build.ts'
import { type Artifact, artifactOf } from '../solc.ts'

const callTimeoutMs = 10_000
const mockChainId = 31_337

type Place = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly signal?: AbortSignal
}

const anvilClient = ({ rpcUrl, chainId = mockChainId }: Pick<Place, 'rpcUrl'> & Partial<Place>) => {
  const transport = rpcTransport({ rpcUrl, chainId, timeoutMs: callTimeoutMs })
  return createTestClient({ mode: 'anvil', transport })
}

/** Makes the encrypted inputs valid that `signer` signs. */
const setSigner = async (
  { rpcUrl, chainId, signal }: Place,
  signer: Hex,
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
  await anvilClient({ rpcUrl, chainId }).setBalance({
    address: account.address,
    value: parseEther('1'),
  })
  const functionName = 'initialize'
  const data = encodeFunctionData({ abi, functionName, args: [signer] })
  await sendCall(chain, { to: TASK_MANAGER_ADDRESS, data, abi, functionName }, signal)
}

const place = async (
  where: Place,
  signer: Hex,
  contracts: readonly (readonly [address: Hex, name: string])[],
): Promise<void> => {
  const { rpcUrl, signal } = where
  const artifacts = await buildContracts()
  try {
    for (const [address, name] of contracts) {
      signal?.throwIfAborted()
      const bytecode = artifactOf(artifacts, name).deployedBytecode
      await anvilClient(where).setCode({ address, bytecode })
    }
    await setSigner(where, signer, artifactOf(artifacts, 'LocalTaskManager'))
  } catch (error) {
    signal?.throwIfAborted()
    throw new Error(`cannot place the local coprocessor on ${rpcUrl}: is it an anvil chain?`, {
      cause: error,
    })
  }
}

/** DEVELOPMENT ONLY: puts the contracts for the SDK's mock mode on an anvil chain. Idempotent. */
export const placeLocalCofhe = async (
  where: Omit<Place, 'chainId'> & Partial<Place>,
): Promise<void> => {
  const signer = MOCKS_ZK_VERIFIER_SIGNER_ADDRESS
  await place({ chainId: mockChainId, ...where }, signer, [
    [TASK_MANAGER_ADDRESS, 'LocalMockTaskManager'],
    [MOCKS_ZK_VERIFIER_ADDRESS, 'LocalZkVerifier'],
    [MOCKS_THRESHOLD_NETWORK_ADDRESS, 'LocalThresholdNetwork'],
  ])
  await anvilClient(where).setBalance({ address: signer, value: parseEther('100') })
}

/** DEVELOPMENT ONLY: puts a running local coprocessor's contract on an anvil chain with any id but 31337. Idempotent. */
export const placeLocalTaskManager = (
  where: Place & {
    /** The coprocessor's verifier address. */
    readonly verifier: Hex
  },
): Promise<void> => {
  const { verifier } = where
  if (where.chainId === mockChainId || isAddressEqual(verifier, MOCKS_ZK_VERIFIER_SIGNER_ADDRESS)) {
    throw new TypeError('a mock has no place beside real ciphertexts')
  }
  // A process makes proofs and decrypts, so that no plaintext is on the chain.
  return place(where, verifier, [[TASK_MANAGER_ADDRESS, 'LocalTaskManager']])
}
