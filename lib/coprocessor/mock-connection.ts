import {
  assertCorrectEncryptedItemInput,
  type CofheClient,
  createCofheClientBase,
  createCofheConfigBase,
  Encryptable,
  type EncryptedItemInput,
  FheTypes,
} from '@cofhe/sdk'
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
import type { EncryptedInput } from '../chain/encrypted-input.ts'
import { taskManager } from '../chain/task-manager.ts'
import {
  type Connection,
  type Halves,
  halvesOf,
  type StepTeller,
  sdkClients,
} from './connection.ts'
import type { EncryptedHalves } from './coprocessor.ts'

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

const toInput = (item: EncryptedItemInput): EncryptedInput => {
  assertCorrectEncryptedItemInput(item)
  const { ctHash, securityZone, utype, signature } = item
  return { ctHash, securityZone, utype, signature }
}

async function encryptWith(
  client: CofheClient,
  { high, low }: Halves,
  steps: StepTeller,
): Promise<EncryptedHalves> {
  const items = await client
    .encryptInputs([Encryptable.uint128(high), Encryptable.uint128(low)])
    .onStep((name) => steps.begin(name))
    .execute()
  return halvesOf(items.map(toInput))
}

const noProofs = (): never => {
  throw new TypeError('a local chain needs no proofs')
}

async function connect(endpoint: ChainEndpoint, chain: ChainWriter): Promise<CofheClient> {
  const client = createCofheClientBase({
    config: createCofheConfigBase({
      environment: 'node',
      supportedChains: [hardhat],
      fheKeyStorage: null,
      useWorkers: false,
      mocks: { encryptDelay: 0, decryptDelay: 0 },
      _internal: { zkvWalletClient: createInserter(endpoint, chain) },
    }),
    zkBuilderAndCrsGenerator: noProofs,
    tfhePublicKeyDeserializer: noProofs,
    compactPkeCrsDeserializer: noProofs,
    initTfhe: noProofs,
  })
  await client.connect(...sdkClients(chain))
  return client
}

/** DEVELOPMENT ONLY: the SDK's mock mode, without encryption and proofs. */
export function connectMock(endpoint: ChainEndpoint, chain: ChainWriter): Connection {
  let connecting: Promise<CofheClient> | undefined
  const connected = () => {
    // After a failure the next call connects again.
    connecting ??= connect(endpoint, chain).catch((error: unknown) => {
      connecting = undefined
      throw error
    })
    return connecting
  }
  return {
    fetchKeys: async () => {},
    encrypt: async (halves, steps) => encryptWith(await connected(), halves, steps),
    decrypt: async (handle, permit) =>
      (await connected()).decryptForView(handle, FheTypes.Uint128).withPermit(permit).execute(),
  }
}
