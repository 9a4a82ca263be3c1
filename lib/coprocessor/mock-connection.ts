import { hardhat } from '@cofhe/sdk/chains'
import {
  createTestClient,
  encodeAbiParameters,
  type Hex,
  keccak256,
  toHex,
  type WalletClient,
} from 'viem'
import { type ChainEndpoint, type ChainWriter, rpcTransport } from '../chain/clients.ts'
import { taskManager } from '../chain/task-manager.ts'
import { type Connection, connectLazily, decryptWith, encryptWith } from './connection.ts'
import { createSdkClient } from './sdk-client.ts'

const knownMark = 1n << 255n
const metadataMask = 0xffffn

/** The storage slot of a handle's plaintext in the local task manager. */
const plaintextSlot = (handle: bigint): Hex =>
  keccak256(
    encodeAbiParameters(
      [{ type: 'string' }, { type: 'uint256' }],
      ['svc.local.plaintext', handle & ~metadataMask],
    ),
  )

/** Replaces the wallet of the SDK's mock mode: writes plaintexts to the storage of the local coprocessor, so that no transaction has one. */
const createInserter = (endpoint: ChainEndpoint, chain: ChainWriter) => {
  const test = createTestClient({
    mode: 'anvil',
    transport: rpcTransport(endpoint),
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

/** DEVELOPMENT ONLY: the SDK's mock mode, without encryption and proofs. */
export function connectMock(endpoint: ChainEndpoint, chain: ChainWriter): Connection {
  const connected = connectLazily(() =>
    createSdkClient(chain, {
      supportedChains: [hardhat],
      fheKeyStorage: null,
      useWorkers: false,
      mocks: { encryptDelay: 0, decryptDelay: 0 },
      _internal: { zkvWalletClient: createInserter(endpoint, chain) },
    }),
  )
  return {
    fetchKeys: async () => {},
    encrypt: async (halves, steps) => encryptWith(await connected(), halves, steps),
    decrypt: async (handle, permit) => decryptWith(await connected(), handle, permit),
  }
}
