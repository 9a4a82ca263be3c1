import {
  type CofheClient,
  type CofheClientParams,
  type CofheConfig,
  createCofheClientBase,
  createCofheConfigBase,
} from '@cofhe/sdk'
import { hardhat } from '@cofhe/sdk/chains'
import {
  createTestClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  toHex,
  type WalletClient,
} from 'viem'
import type { ChainEndpoint, ChainWriter } from '../chain/clients.ts'
import { taskManager } from '../chain/task-manager.ts'

type Builder = ReturnType<CofheClientParams<CofheConfig>['zkBuilderAndCrsGenerator']>

const ignore = () => {}

// The SDK asks for these even where no proof is made. They must not throw: it calls them where nothing catches.
const noProofs = {
  zkBuilderAndCrsGenerator: (): Builder => ({
    zkBuilder: {
      push_boolean: ignore,
      push_u8: ignore,
      push_u16: ignore,
      push_u32: ignore,
      push_u64: ignore,
      push_u128: ignore,
      push_u160: ignore,
      build_with_proof_packed: () => ({ serialize: () => new Uint8Array() }),
    } as unknown as Builder['zkBuilder'],
    zkCrs: {} as Builder['zkCrs'],
  }),
  tfhePublicKeyDeserializer: ignore,
  compactPkeCrsDeserializer: ignore,
  initTfhe: async () => false,
}

const knownMark = 1n << 255n
const metadataMask = 0xffffn

/** Where the local task manager keeps the plaintext behind a handle. */
const plaintextSlot = (handle: bigint): Hex =>
  keccak256(
    encodeAbiParameters(
      [{ type: 'string' }, { type: 'uint256' }],
      ['svc.local.plaintext', handle & ~metadataMask],
    ),
  )

/**
 * Takes the place of the wallet with which the SDK's mock mode would send plaintexts in a transaction: it puts them
 * where the local coprocessor looks for them, so that no transaction carries one.
 */
const createInserter = (endpoint: ChainEndpoint, chain: ChainWriter) => {
  const test = createTestClient({
    mode: 'anvil',
    transport: http(endpoint.rpcUrl, { timeout: endpoint.timeoutMs ?? 10_000 }),
  })
  const insert = async ({ functionName, args }: { functionName: string; args: unknown }) => {
    if (functionName !== 'insertPackedCtHashes') throw new TypeError(`no ${functionName} here`)
    const [handles, plaintexts] = args as readonly [readonly bigint[], readonly bigint[]]
    for (const [index, handle] of handles.entries()) {
      const value = toHex((plaintexts[index] ?? 0n) | knownMark, { size: 32 })
      await test.setStorageAt({ address: taskManager, index: plaintextSlot(handle), value })
    }
    return '0x' as const
  }
  return { ...chain.walletClient, writeContract: insert as WalletClient['writeContract'] }
}

/** DEVELOPMENT ONLY: the SDK's client in its mock mode, connected as the wallet of `chain`; writes nothing to disk. */
export const connectLocalCofhe = async (
  endpoint: ChainEndpoint,
  chain: ChainWriter,
): Promise<CofheClient> => {
  const config = createCofheConfigBase({
    environment: 'node',
    supportedChains: [hardhat],
    fheKeyStorage: null,
    useWorkers: false,
    mocks: { encryptDelay: 0, decryptDelay: 0 },
    _internal: { zkvWalletClient: createInserter(endpoint, chain) },
  })
  const client = createCofheClientBase({ config, ...noProofs })
  await client.connect(chain.publicClient, chain.walletClient)
  return client
}
